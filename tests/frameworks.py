"""Every integration against the released framework, each in an environment of its own.

Run by `make test-integrations`; `python tests/frameworks.py inspect mcp` takes some of them. The
environments are kept below build/integrations and built anew where what they hold has changed.
Prints a table; `--write` puts it into docs/guides/integrations/index.md. Ends with 1 where anything
failed.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "integrations"
PAGE = ROOT / "docs" / "guides" / "integrations" / "index.md"
BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
TESTED = ("pytest", "hypothesis", "rich")
MINUTES = 20


class Row(NamedTuple):
    """What is told of one framework."""

    name: str
    version: str = ""
    python: str = ""
    tests: str = ""
    equal: str = ""
    speed: str = ""
    overhead: str = ""
    seconds: str = ""
    failed: bool = False


HEADINGS = (
    "framework", "version", "Python", "tests", "equal episodes (mean)", "episodes/s",
    "over the bare tools", "seconds",
)  # fmt: skip


def find_python(wanted: str) -> str | None:
    """A Python of this version: on the path, or one of pyenv's."""
    if sys.version_info[:2] == tuple(map(int, wanted.split("."))):
        return sys.executable
    homes = sorted(Path.home().glob(f".pyenv/versions/{wanted}.*/bin/python"))
    found = [*map(str, homes), shutil.which(f"python{wanted}")]
    for program in filter(None, found):
        told = subprocess.run([program, "-c", "import sys; print(sys.version_info[:2])"],
                              capture_output=True, text=True)  # fmt: skip
        if told.returncode == 0 and told.stdout.strip() == str(tuple(map(int, wanted.split(".")))):
            return program
    return None


def requirements(entry: dict[str, Any]) -> list[Any]:
    """What errands itself asks for in an environment: its own needs, and those of the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    words = " ".join(word for command in entry["install"] for word in command)
    extras = ",".join(re.findall(r"\[([\w,-]+)\]", words)).split(",")
    return [project["dependencies"], [project["optional-dependencies"].get(one) for one in extras]]


def build(name: str, entry: dict[str, Any], python: str, log: Path) -> Path:
    """The interpreter of a framework's environment, made if it is not there yet."""
    home = FOLDER / name / "venv"
    needs = json.dumps([entry, python, requirements(entry)])
    stamp = home / ".built"
    digest = hashlib.sha256(needs.encode()).hexdigest()
    program = home / "bin" / "python"
    if stamp.is_file() and stamp.read_text() == digest:
        return program
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(program), "-m", "pip", "install", "--quiet"]
    with log.open("w") as told:
        for command in (
            [python, "-m", "venv", str(home)],
            *(
                [str(program), "-m", "pip", "install", "--quiet", *words]
                for words in entry["install"]
            ),
            [*pip, *TESTED],
        ):
            print("$", *command, file=told, flush=True)
            subprocess.run(command, cwd=ROOT, stdout=told, stderr=told, check=True)
    stamp.write_text(digest)
    return program


def run_tests(name: str, entry: dict[str, Any], program: Path, log: Path) -> tuple[str, bool]:
    """How many passed, and whether all did; a file of which nothing ran has not passed."""
    result = FOLDER / name / "tests.xml"
    result.unlink(missing_ok=True)
    files = entry.get("tests", [f"tests/integrations/test_{name.replace('-', '_')}.py"])
    with log.open("a") as told:
        done = subprocess.run(
            [str(program), "-m", "pytest", "-rs", "-p", "no:cacheprovider", f"--junitxml={result}",
             *files],
            cwd=ROOT, stdout=told, stderr=told, timeout=MINUTES * 60,
        )  # fmt: skip
    if not result.is_file():
        return "none ran", False
    suite = ElementTree.parse(result).getroot().find("testsuite")
    assert suite is not None
    count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    told_counts = [f"{passed} passed"]
    told_counts += [
        f"{count[key]} {key}" for key in ("failures", "errors", "skipped") if count[key]
    ]
    return ", ".join(told_counts), done.returncode == 0 and passed > 0


def measure(name: str, program: Path, log: Path) -> dict[str, Any]:
    with log.open("a") as told:
        done = subprocess.run(
            [str(program), "tests/integrations/speed.py", name],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=told, text=True, timeout=MINUTES * 60,
        )  # fmt: skip
    if done.returncode:
        return {}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def one(name: str, entry: dict[str, Any]) -> Row:
    """Everything about one framework."""
    wanted = entry.get("python", "3.11")
    python = find_python(wanted)
    if python is None:
        return Row(name, python=f"no {wanted} here", tests="not run")
    (FOLDER / name).mkdir(parents=True, exist_ok=True)
    log = FOLDER / name / "log.txt"
    begun = time.monotonic()
    try:
        program = build(name, entry, python, log)
        version = ""
        if "distribution" in entry:
            asked = (
                f"from importlib.metadata import version; print(version({entry['distribution']!r}))"
            )
            version = subprocess.check_output([str(program), "-c", asked], text=True).strip()
        tests, passed = run_tests(name, entry, program, log)
        figures = (
            measure(entry.get("module", name), program, log)
            if entry.get("speed", True) and passed
            else {}
        )
    except (subprocess.SubprocessError, OSError) as failure:
        return Row(name, python=wanted, tests=f"failed: {failure} (see {log})", failed=True)
    return Row(
        name,
        version,
        wanted,
        tests if passed else f"{tests}: see {log}",
        _equal(figures),
        *_speed(figures),
        f"{time.monotonic() - begun:.0f}",
        not passed or (entry.get("speed", True) and not figures),
    )


def _speed(figures: dict[str, Any]) -> tuple[str, str]:
    """Episodes a second, and what the adapter adds; nothing to compare where another process, a
    network or a browser is between."""
    if not figures:
        return "", ""
    rate = figures["episodes_per_second"]
    added = f"{figures['overhead']:+.1%}" if figures["in_process"] else "another process"
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}", added


def _equal(figures: dict[str, Any]) -> str:
    """How many episodes were worth the same as through `errands run`, and what."""
    if not figures:
        return ""
    return f"{figures['equal']} ({figures['shop_mean']:.4f}, {figures['forms_mean']:.4f})"


def table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(row[:-1]) + " |" for row in rows]
    return "\n".join(lines)


def write(rows: Sequence[Row]) -> None:
    """Put the rows into the page; those of other runs stay."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept: dict[str, list[str]] = {}
    for line in old.strip().splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        kept[cells[0]] = cells
    made = {row.name: row for row in rows}
    order = list(dict.fromkeys([*kept, *made]))
    lines = [made[name] if name in made else Row(*kept[name]) for name in order]
    PAGE.write_text(f"{before}{BEGIN}\n{table(lines)}\n{END}{after}")


def main() -> int:
    entries = tomllib.loads((ROOT / "tests" / "integrations" / "environments.toml").read_text())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(entries)} (default: all)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in entries]
    if unknown:
        parser.error(f"there is no framework {unknown[0]!r}; expected {', '.join(entries)}")
    os.environ.pop("PYTHONPATH", None)
    rows = []
    for name in given.names or entries:
        print(f"{name} ...", flush=True)
        rows.append(one(name, entries[name]))
    print(f"\n{table(rows)}")
    if given.write:
        write([row for row in rows if not row.failed])
    failed = [row.name for row in rows if row.failed]
    print(f"\n{len(rows) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
