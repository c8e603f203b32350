"""Errands on every Python of this machine: the package on 3.11 and newer, the client on older ones.

Run by `make test-pythons`. The wheel is built once and installed in an empty environment of each
Python, where it must play the same episodes with the same rewards; Pythons before 3.11 play
against a server of this one with `packages/errands-client`. What it needs from the registry is
what a user's `pip install` would need. Ends with a table; exit status 1 if something failed.
"""

import contextlib
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ("3.11", "3.12", "3.13")
CLIENT = ("3.8", "3.9", "3.10")
LIBRARIES = ("gymnasium", "gym==0.26.2", "gym==0.25.2", "gym==0.21.0")

CHECK = """
import warnings
warnings.simplefilter("error")
import errands, gymnasium
from gymnasium.utils.env_checker import check_env
for name, options in (("Shop", {}), ("Turk", {"driver": "dom"})):
    env = gymnasium.make(f"errands/{name}-v0", **options)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()
"""
LEGACY = """
import json, sys
import web_agent_site.envs
if sys.argv[1] == "gym":
    import gym
    env = gym.make("WebAgentTextEnv-v0", observation_mode="text").unwrapped
else:
    assert "gym" not in sys.modules
    env = web_agent_site.envs.WebAgentTextEnv(observation_mode="text")
played = [env.reset(session=3)[0]]
for action in ("search[" + env.get_instruction_text() + "]", None, "click[buy now]"):
    if action is None:
        products = [c for c in env.get_available_actions()["clickables"] if c.startswith("b0")]
        action = f"click[{products[0]}]"
    observation, reward, done, info = env.step(action)
    played += [observation, float(reward)]
assert done, observation
print(json.dumps(played))
"""


class Failure(Exception):
    """Something that should have worked, in one line."""


class Row(NamedTuple):
    """What was tried with a Python, and how it went."""

    python: str
    what: str
    result: str
    seconds: float
    failed: bool = False


class Trial:
    """Rows of the table; what must be the same with every Python is remembered by name."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._first: dict[str, tuple[str, Any]] = {}

    def attempt(self, python: str, what: str, do: Callable[[], str]) -> bool:
        """Do something that may fail, and put down what came of it."""
        begun = time.monotonic()
        try:
            result, failed = do(), False
        except Failure as failure:
            result, failed = f"FAILED: {failure}", True
        self.note(Row(python, what, result, time.monotonic() - begun, failed))
        return not failed

    def note(self, row: Row) -> None:
        self.rows.append(row)
        print(f"{row.python:8} {row.what:32} {row.result}  ({row.seconds:.1f} s)", flush=True)

    def same(self, name: str, python: str, value: Any) -> None:
        """Hold a value against that of the Python before."""
        other, expected = self._first.setdefault(name, (python, value))
        if value != expected:
            pairs = enumerate(zip(str(value), str(expected), strict=False))
            start = next((i for i, (one, two) in pairs if one != two), 0)
            here, there = (str(one)[start : start + 60] for one in (value, expected))
            raise Failure(f"not as with {other}: {here!r}, there {there!r}")

    def table(self) -> str:
        widths = [max(len(row[i]) for row in self.rows) for i in range(3)]
        return "\n".join(
            f"{row.python:{widths[0]}}  {row.what:{widths[1]}}  {row.result:{widths[2]}}"
            f"  {row.seconds:7.1f} s"
            for row in self.rows
        )


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """What a command printed; its last words if it failed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", "ERRANDS_HOME": str(cwd / "home"), **environment},
        text=True,
        capture_output=True,
    )
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "without a word").splitlines()
        raise Failure(f"{Path(command[0]).name}: {words[-1]} (status {done.returncode})")
    return done.stdout


def find_python(version: str) -> str | None:
    """A Python that can make environments: pyenv's, or one of PATH."""
    folder = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    named = sorted(glob.glob(f"{folder}/versions/{version}.*/bin/python"), reverse=True)
    for candidate in [*named, f"python{version}"]:
        code = "import ensurepip, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"
        with contextlib.suppress(OSError, Failure):
            if run(candidate, "-c", code, cwd=Path.cwd()).strip() == version:
                return candidate
    return None


def pip(bin: Path, *words: str | Path) -> None:
    run(bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words,
        cwd=bin)  # fmt: skip


def _course(episode: Mapping[str, Any]) -> list[Any]:
    """What must be the same wherever an episode is played: all but the time it took."""
    steps = [[step[name] for name in ("action", "reward", "digest")] for step in episode["steps"]]
    fields = ("key", "status", "reward", "parts", "last_digest")
    return [*(episode[name] for name in fields), steps]


def try_package(trial: Trial, version: str, python: str, wheel: Path, place: Path) -> None:
    """Everything that the wheel must do with a Python."""
    bin = place / "venv" / "bin"

    def install() -> str:
        run(python, "-m", "venv", place / "venv", cwd=place)
        pip(bin, "--constraint", ROOT / "constraints.txt", wheel)
        return run(bin / "errands", "--version", cwd=place).strip()

    def check() -> str:
        run(bin / "python", "-c", CHECK, cwd=place)
        return "Shop-v0 and Turk-v0 pass"

    def play(protocol: str, agent: str) -> str:
        run(bin / "errands", "run", protocol, "--agent", agent, "--episodes", "5", "--out", "run",
            cwd=place)  # fmt: skip
        run(bin / "errands", "export", "run", f"{protocol}.jsonl", cwd=place)
        run("rm", "-r", "run", cwd=place)
        episodes = [json.loads(line) for line in (place / f"{protocol}.jsonl").open()]
        trial.same(protocol, version, [_course(episode) for episode in episodes])
        return f"rewards {' '.join(str(round(episode['reward'], 3)) for episode in episodes)}"

    def legacy(how: str) -> str:
        pip(bin, *(["gym==0.26.2"] if how == "gym" else [ROOT / "packages" / "errands-legacy"]))
        played = json.loads(run(bin / "python", "-c", LEGACY, how, cwd=place))
        trial.same("legacy", version, played)
        return f"reward {played[-1]:.3f}"

    if not trial.attempt(version, "install the wheel", install):
        return
    trial.attempt(version, "check_env", check)
    trial.attempt(version, "shop-demo, rule", lambda: play("shop-demo", "rule"))
    trial.attempt(version, "turk-demo, oracle", lambda: play("turk-demo", "oracle"))
    if (ROOT / "packages" / "errands-legacy" / "pyproject.toml").exists():
        trial.attempt(version, "web_agent_site, no gym", lambda: legacy("plain"))
        trial.attempt(version, "web_agent_site, gym 0.26", lambda: legacy("gym"))


def try_client(trial: Trial, version: str, python: str, url: str, place: Path) -> None:
    """Everything that the client of one file must do with a Python."""
    bin = place / "venv" / "bin"

    def play(library: str) -> str:
        script = ROOT / "tests" / "client" / "play.py"
        shown = run(bin / "python", script, ROOT / "packages" / "errands-client", url, cwd=place)
        told = json.loads(shown.splitlines()[-1])
        if library.replace("==", " ") not in told["with"]:
            raise Failure(f"it found {told['with']}, not {library}")
        trial.same("client", version, told["played"])
        return f"{told['with']}: shop {told['played']['shop']:.3f}, form, 8 shops"

    def bare() -> str:
        run(python, "-m", "venv", place / "venv", cwd=place)
        return play("no library")

    if not trial.attempt(version, "client alone", bare):
        return
    for library in LIBRARIES:
        begun = time.monotonic()
        run(bin / "python", "-m", "pip", "uninstall", "-y", "-q", "gym", "gymnasium", cwd=place)
        try:
            pip(bin, "--only-binary", "numpy", library)
            # Some of gym's releases install where they cannot be imported.
            run(bin / "python", "-W", "ignore", "-c", f"import {library.split('=')[0]}", cwd=place)
        except Failure:
            seconds = time.monotonic() - begun
            trial.note(Row(version, f"client, {library}", "does not install here", seconds))
        else:
            trial.attempt(version, f"client, {library}", lambda name=library: play(name))


@contextlib.contextmanager
def server(place: Path) -> Iterator[str]:
    """`errands serve --environments` of this Python, on a free port."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "ERRANDS_HOME": str(place / "home")}
    log = (place / "server.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "errands", "serve", "--environments", "--port", "0"],
        env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        cwd=place,
        text=True,
        stdout=subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if " on http://" not in line:
            words = (place / "server.log").read_text().strip()
            raise SystemExit(f"errands serve said {line or words!r}; expected its address.")
        yield line.split()[-1]
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def main() -> int:
    trial = Trial()
    pythons: Mapping[str, str | None] = {one: find_python(one) for one in (*CLIENT, *PACKAGE)}
    with tempfile.TemporaryDirectory(prefix="errands-pythons-") as folder:
        outside = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", outside, ROOT,
            cwd=outside)  # fmt: skip
        (wheel,) = outside.glob("errands-*.whl")
        with server(outside) as url:
            for version, python in pythons.items():
                place = outside / version
                place.mkdir()
                if python is None:
                    trial.note(Row(version, "", "not found", 0.0))
                elif version in PACKAGE:
                    try_package(trial, version, python, wheel, place)
                else:
                    try_client(trial, version, python, url, place)
    print(f"\n{trial.table()}")
    if not any(pythons.values()):
        print(f"None of Python {', '.join(pythons)} was found; install one, with pyenv say.")
        return 1
    failures = sum(row.failed for row in trial.rows)
    print(f"{failures} of {len(trial.rows)} failed." if failures else "All of it works.")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
