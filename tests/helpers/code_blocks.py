"""Code in the documentation, run as somebody would who follows a page from top to bottom.

Blocks run in order, in one empty folder and one Python process for each page:

- `python` runs; with `title="name.py"` it becomes that file instead, as do all titled blocks;
- `console` runs what stands behind `$ `, and what stands below must be printed (`...` is anything);
  `errands serve` goes on until the end of the page, on a port of its own;
- `toml` and `json` must be readable; `text` is no code; every block has a language;
- `cp FILE .` takes a file of the clone;
- `pip install` and `make` are not run, but the extras, folders and targets they name must exist.

A comment before a block says why it is left out, or left to `make test-slow`:

    <!-- not run: takes an hour -->
    <!-- slow: trains for a minute -->
"""

import contextlib
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import in_process
from effort import SLOW

__all__ = ["ROOT", "Block", "blocks", "follow"]

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
_FENCE = re.compile(r"^```(?P<language>[\w-]*)(?: title=\"(?P<title>[^\"]+)\")?$")
_REMARK = re.compile(r"^<!-- (?P<kind>not run|slow): (?P<reason>.+) -->$")
SERVED = "127.0.0.1:8000"
"""Where pages say that `errands serve` is."""
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):8000")


@dataclass(frozen=True, slots=True)
class Block:
    line: int
    """Of its first line of code, counted from 1."""
    language: str
    title: str
    text: str
    kind: str
    """`not run`, `slow`, or empty: it runs."""
    reason: str


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    fence: re.Match[str] | None = None
    remark: re.Match[str] | None = None
    code: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if fence is None:
            fence = _FENCE.match(line)
            assert fence or not line.startswith("```"), f"{page}:{number} is no known fence: {line}"
            if not fence and line:
                remark = _REMARK.match(line)
        elif line == "```":
            about = remark.groupdict() if remark else {"kind": "", "reason": ""}
            yield Block(
                line=number - len(code), language=fence["language"], title=fence["title"] or "",
                text="".join(f"{one}\n" for one in code), **about,
            )  # fmt: skip
            fence, remark, code = None, None, []
        else:
            code.append(line)
    assert fence is None, f"{page}: a block is never closed"


def follow(page: Path, folder: Path, keys: str = "") -> int:
    """Does what a page says, in a folder; tells how many blocks were run."""
    done = 0
    with _Follower(page, folder, keys) as follower:
        for block in blocks(page):
            if block.kind == "not run" or (block.kind == "slow" and not SLOW):
                continue
            follower.do(block)
            done += 1
    return done


class _Follower(contextlib.ExitStack):
    """Who follows a page: the Python session, and the servers that it has started."""

    def __init__(self, page: Path, folder: Path, keys: str) -> None:
        super().__init__()
        self.page, self.folder, self.keys = page, folder, keys
        self.names: dict[str, Any] = {"__name__": "page"}
        self.address = ""
        """Of the server that the page has started last."""

    def __enter__(self) -> "_Follower":
        self.enter_context(contextlib.chdir(self.folder))
        sys.path.insert(0, str(self.folder))
        self.callback(self._forget)
        return self

    def _forget(self) -> None:
        """The modules of this page, whose names another page may give to its own."""
        sys.path.remove(str(self.folder))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]

    def _make_importable(self, name: str) -> None:
        """A module that the page has just written, whatever else has that name in this process."""
        importlib.invalidate_caches()
        other = sys.modules.pop(name, None)
        if other is not None and other.__file__ != str(self.folder / f"{name}.py"):
            self.callback(sys.modules.__setitem__, name, other)

    def do(self, block: Block) -> None:
        place = f"{self.page.relative_to(ROOT)}:{block.line}"
        text = self._addressed(block.text)
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            self._make_importable(path.stem)
        elif block.language == "python":
            # Blank lines before it, so that a traceback names the page's own line.
            code = compile("\n" * (block.line - 1) + text, str(self.page), "exec")
            exec(code, self.names)
        elif block.language == "console":
            for command, said in _commands(block.text, place):
                printed = self._run(self._addressed(command), place)
                _compare(
                    printed.replace(self.address or SERVED, SERVED), said, f"{place}: {command}"
                )
        elif block.language in ("json", "toml"):
            (json.loads if block.language == "json" else tomllib.loads)(text)
        else:
            assert block.language == "text", f"{place}: no way to run {block.language!r}"

    def _addressed(self, text: str) -> str:
        """With the address of the server that the page has started, if it has."""
        return _ADDRESS.sub(self.address, text) if self.address else text

    def _run(self, command: str, place: str) -> str:
        words = shlex.split(re.sub(r"\s+# .*$", "", command))
        match words:
            case ["pip", "install", *wanted]:
                return _check_install(wanted, place)
            case ["make", target]:
                assert f"\n{target}:" in (ROOT / "Makefile").read_text(), f"{place}: make {target}"
                return ""
            case ["cp", source, "."]:
                shutil.copy(ROOT / source, self.folder)
                return ""
            case ["errands", "serve", *options]:
                return self._serve(options)
            case ["errands", *options]:
                done = in_process(*options, cwd=self.folder, keys=self.keys)
            case ["python" | "pytest" as program, *options]:
                module = ["-m", "pytest", "-p", "no:cacheprovider"] if program == "pytest" else []
                done = subprocess.run(
                    [sys.executable, *module, *options],
                    text=True, capture_output=True, check=False, timeout=300,
                )  # fmt: skip
            case ["curl", *_]:
                done = subprocess.run(
                    ["bash", "-c", command],
                    text=True, capture_output=True, check=False, timeout=60,
                )  # fmt: skip
            case _:
                raise AssertionError(f"{place}: no way to run {command!r}; say why not")
        printed = done.stdout + done.stderr
        assert done.returncode == 0, f"{place}: {command}\n{printed}"
        assert "Traceback" not in printed, f"{place}: {command}\n{printed}"
        return printed

    def _serve(self, options: list[str]) -> str:
        """Until the end of the page, on any free port: the page's addresses are changed to it."""
        path = self.folder / "serve.log"
        log = self.enter_context(path.open("w", encoding="utf-8"))
        serving = subprocess.Popen(
            [sys.executable, "-m", "errands", "serve", *options, "--port", "0"],
            stdout=log, stderr=log, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.callback(_end, serving)
        printed, before = "", ""
        # Until it has said where, and says no more.
        for _ in range(300):
            if "http://" in printed and printed == before:
                break
            before = printed
            with contextlib.suppress(subprocess.TimeoutExpired):
                serving.wait(0.3)
                break
            printed = path.read_text("utf-8")
        found = re.search(r"http://(127\.0\.0\.1:\d+)", printed)
        assert found, f"errands serve {options}: {printed}"
        assert serving.poll() is None, f"errands serve {options} has ended: {printed}"
        self.address = found[1]
        return printed


def _compare(printed: str, said: list[str], place: str) -> None:
    for line in said:
        pattern = ".*".join(map(re.escape, line.rstrip().split("...")))
        assert re.search(pattern, printed), f"{place} does not print {line!r}, but\n{printed}"


def _commands(text: str, place: str) -> Iterator[tuple[str, list[str]]]:
    """What stands behind `$ `, continued lines joined, and what the page says is printed."""
    command, said = "", list[str]()
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, said
            command, said = line[2:], []
            while command.endswith("\\"):
                command = command[:-1] + next(lines).removeprefix(">").strip()
        else:
            assert command, f"{place} begins with what no command prints"
            said.append(line)
    assert command, f"{place} has no command: lines begin with `$ `"
    yield command, said


def _check_install(wanted: list[str], place: str) -> str:
    """Nothing is installed; extras and folders that are named must exist."""
    for word in wanted:
        named = re.fullmatch(r"(errands|\.)(?:\[([\w,-]+)\])?", word)
        if named:
            unknown = {extra for extra in (named[2] or "").split(",") if extra} - EXTRAS.keys()
            assert not unknown, f"{place}: no extra {unknown}"
        elif word.startswith("./"):
            folder = ROOT / word.partition("[")[0]
            assert (folder / "pyproject.toml").is_file(), f"{place}: {word}"
    return ""


def _end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
