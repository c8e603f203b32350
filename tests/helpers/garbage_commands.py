"""Commands with garbage, each in a process of its own that is forked from one that has imported
everything.

    python garbage_commands.py WORK CATALOGUE < trials

reads lines of JSON, whether a command is refused at once and its words, with `{g}` for a folder of
garbage and `{m}` for one of what is good, and prints a line of JSON for each, as they end.
"""

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

from garbage import make_device, write_garbage
from made_up_shops import GOODS, amazon_item, amazon_results

from errands.cli import main as errands
from errands.crowd.database import open_database
from errands.shop.catalog.catalog import Catalog

__all__ = ["main"]

_LATE: Final[Mapping[str, Sequence[str]]] = {
    "serve": ("errands.web", "errands.crowd"), "mine": ("errands.mining",),
    "transfer": ("errands.transfer",), "leaderboard": ("errands.leaderboard",),
    "train": ("errands.learn",), "experiment": ("errands.learn", "errands.experiments"),
    "verify-reward": ("errands.verify", "errands.web"), "bench": ("errands.bench",),
}  # fmt: skip

SLOTS = 2
CPU_SECONDS, SECONDS = 5.0, 100.0
"""A command that has taken so long is at work."""
PATIENCE = 15.0
"""What is told to stop has so long."""
SERVES = b" on http://127.0.0.1:"


def _import_all(commands: Set[str]) -> None:
    """What these commands import late would otherwise be imported by each of them."""
    packages = {"errands.cli"}.union(*(_LATE.get(command, ()) for command in commands))
    for package in sorted(packages):
        root = importlib.import_module(package)
        for module in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{package}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _no_names(*words: Any, **more: Any) -> Any:
    """Nobody is asked for an address outside this machine."""
    if words[0] in (None, "", "localhost", "127.0.0.1", "0.0.0.0", "::1", "::"):
        return _ADDRESSES(*words, **more)
    if isinstance(words[0], str):
        words[0].encode("idna")  # Which is done before anybody is asked, and may fail.
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


_ADDRESSES = socket.getaddrinfo


class Command:
    """A command at work."""

    def __init__(self, number: int, words: list[str], work: Path) -> None:
        self.number = number
        self.folder = work / f"case-{number}"
        self.cwd = self.folder / "cwd"
        self.cwd.mkdir(parents=True)
        self.words = words
        for sign, name in (("{g}", "garbage"), ("{m}", "good")):
            # Its own, as it may be told to write there.
            shutil.copytree(work / name, self.folder / name, symlinks=True)
            self.words = [word.replace(sign, str(self.folder / name)) for word in self.words]
        make_device(self.folder / "garbage" / "device")
        self.marks = self._marks()
        self.began = time.monotonic()
        self.told = 0.0
        self.state = ""
        self.process = os.fork()
        if not self.process:
            self._child()

    def _child(self) -> None:
        status = 70
        try:
            os.setpgid(0, 0)
            os.chdir(self.cwd)
            for name, number in (("out", 1), ("err", 2)):
                handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT)
                os.dup2(handle, number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
                mode = "r" if number == 0 else "w"
                setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
            resource.setrlimit(resource.RLIMIT_CPU, (200, 200))
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            socket.getaddrinfo = _no_names
            status = self._call()
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(status)

    def _call(self) -> int:
        sys.argv = ["errands", *self.words]
        try:
            errands()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        return 0

    def poll(self) -> dict[str, Any] | None:
        """What came of it, when it has ended."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        if not process:
            self._watch()
            return None
        left = self._others()
        record = {
            "number": self.number,
            "status": os.waitstatus_to_exitcode(status),
            "state": self.state,
            "seconds": round(time.monotonic() - self.began, 2),
            "out": self._said("out"),
            "err": self._said("err"),
            "files": sorted(str(path.relative_to(self.cwd)) for path in self.cwd.rglob("*"))[:20],
            "processes": left,
            "changed": _changed(self.marks, self._marks()),
        }
        shutil.rmtree(self.folder, ignore_errors=True)
        return record

    def _marks(self) -> dict[str, tuple[int, int, int]]:
        return _marks(self.folder / "garbage", self.folder / "good")

    def _said(self, name: str) -> str:
        return (self.folder / name).read_bytes()[:400_000].decode("utf-8", "replace")

    def _watch(self) -> None:
        now = time.monotonic()
        if self.told:
            if now - self.told > PATIENCE:
                self.state = "deaf"
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process, signal.SIGKILL)
            return
        with contextlib.suppress(OSError):
            if SERVES in (self.folder / "out").read_bytes()[:10_000]:
                self.state = "serves"
        if now - self.began > SECONDS or self._cpu() > CPU_SECONDS:
            self.state = "works"
        if self.state:
            self.told = now
            os.kill(self.process, signal.SIGTERM)

    def _cpu(self) -> float:
        try:
            fields = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def _others(self) -> int:
        """How many processes of it have not ended with it."""
        for _ in range(40):
            try:
                os.killpg(self.process, 0)
            except (ProcessLookupError, PermissionError):
                return 0
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        return 1


_SHOP: Final = ("--data", "{m}/shop")
STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    "items.json": (
        "catalog", "export", "{m}/shop", "--items={m}/items.json",
        "--attributes={m}/attributes.json", "--force",
    ),
    "run": ("run", "shop-demo", "--agent=rule", "--episodes=4", "--out={m}/run", *_SHOP),
    "forms": ("run", "turk-demo", "--agent=do-nothing", "--episodes=2", "--out={m}/forms"),
    "board": ("submit", "{m}/run", "--out={m}/board/a.errands.json.gz"),
    "demos": ("train", "demonstrations", "{m}/demos", "--episodes=12", "--workers=1", *_SHOP),
    "il": ("train", "choice", "{m}/demos", "--out={m}/il", "--epochs=1", "--width=8"),
    "search": ("train", "search", "{m}/demos", "--out={m}/search", "--epochs=1"),
    "candidates.json": (
        "mine", "attributes", "--items={m}/items.json", "--out={m}/candidates.json", "--top=20",
    ),
    "predictions.jsonl": (
        "turk", "oracle-actions", "--out={m}/predictions.jsonl", "--driver=dom", "--limit=1",
    ),
    "transfer.jsonl": (
        "transfer", "play", "--site=amazon", "--instruction=a red shoe", "--pages={m}/pages",
        "--out={m}/transfer.jsonl",
    ),
}  # fmt: skip
"""The commands that make what is good, each after what it needs."""


def _make_good(work: Path, catalogue: str, trials: Sequence[Sequence[str]]) -> str:
    """What these trials work with; returns the id of a product."""
    good = work / "good"
    good.mkdir()
    (good / "shop").symlink_to(catalogue)
    pages = good / "pages"
    pages.mkdir()
    (pages / "results.html").write_text(amazon_results(GOODS[:12], False))
    (pages / "item.html").write_text(amazon_item(GOODS[0]))
    (good / "logs").mkdir()
    pairs = {f"please find me a {colour} hat": [f"{colour} hat"] for colour in ("red", "blue")}
    (good / "pairs.json").write_text(json.dumps(pairs))
    open_database(str(good / "site.sqlite")).close()
    catalog = Catalog(Path(catalogue))
    rows = [
        f'{one.asin},"{one.title.replace(chr(34), "")}",5.0,{one.category},{one.query}'
        for one in (catalog.product(number) for number in range(60))
    ]
    (good / "products.csv").write_text("\n".join(["sku,name,price,category,type", *rows]))
    wanted = {word for words in trials for word in words}
    for name, words in reversed(STEPS.items()):
        if any(f"{{m}}/{name}" in word for word in wanted):
            wanted |= set(words)
    for name, words in STEPS.items():
        if any(f"{{m}}/{name}" in word for word in wanted):
            one = Command(0, [word.replace("{m}", str(good)) for word in words], work)
            while (told := one.poll()) is None:
                time.sleep(0.002)
            assert told["status"] == 0, (words, told)
    return catalog.product(0).asin


def _marks(*folders: Path) -> dict[str, tuple[int, int, int]]:
    """What is in these folders, and when it was changed."""
    return {
        str(path): ((at := path.lstat()).st_mode, at.st_size, at.st_mtime_ns)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
    }


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name))


def main() -> None:
    os.environ["COLUMNS"] = "200"
    lines = [json.loads(line) for line in sys.stdin]
    trials = [words for _, *words in lines]
    reached = [words for is_plain, *words in lines if not is_plain]
    _import_all({words[0] for words in reached})
    # Not a `TemporaryDirectory`, which each of the commands would remove at its exit.
    work = Path(tempfile.mkdtemp(dir=sys.argv[1]))
    try:
        write_garbage(work / "garbage")
        asin = _make_good(work, sys.argv[2], reached)
        before = _marks(Path(sys.argv[2]))
        running: list[Command] = []
        left = deque(enumerate(trials))
        while running or left:
            while len(running) < SLOTS and left:
                number, words = left.popleft()
                words = [word.replace("{asin}", asin) for word in words]
                running.append(Command(number, words, work))
            for one in tuple(running):
                if (told := one.poll()) is not None:
                    running.remove(one)
                    print(json.dumps(told), flush=True)
            time.sleep(0.001)
        assert _marks(Path(sys.argv[2])) == before, "the catalogue is another one"
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
