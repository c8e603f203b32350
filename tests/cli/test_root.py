"""The group `errands`: its help on one screen, its names and options, and how lazy it is."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from command import in_process as errands

from errands import cli
from errands.cli.commands import COMMANDS, FORMER, PANELS
from errands.cli.options import ALIASES
from errands.cli.reference import command_paths
from errands.shop.catalog.catalog import Catalog

PATHS = [" ".join(path) for path in command_paths()]


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    """Every command by its words, as it is after loading."""
    root: Any = typer.main.get_command(cli.app)
    context = typer.Context(root, info_name="errands")
    found = {}
    for path in command_paths():
        _, command, _ = root.resolve_command(context, [path[0]])
        for word in path[1:]:
            command = command.commands[word]
        found[" ".join(path)] = command
    return found


def test_help_fits_one_screen() -> None:
    shown = errands("--help", COLUMNS="80").stdout
    lines = shown.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for panel, entries in PANELS.items():
        at = lines.index(panel)
        listed = [line.split()[0] for line in lines[at + 1 : at + 1 + len(entries)]]
        assert listed == list(entries)
    assert errands().stdout == shown


def test_every_module_of_the_table_has_its_command() -> None:
    assert {path.split()[0] for path in PATHS} == set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "other"),
    [("--help", ""), ("--version", ""), ("search --help", "run"), ("demo --help", "demo.shop")],
)
def test_only_the_called_command_is_imported(words: str, other: str) -> None:
    code = (
        "import sys; from errands.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*(name for name in sys.modules if name.startswith('errands')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True
    )
    modules = set(done.stderr.split())
    assert "errands.cli.root" in modules
    if other:
        assert f"errands.cli.{other}" not in modules
    else:
        assert not modules & {f"errands.cli.{entry.module}" for entry in COMMANDS.values()}


@pytest.mark.parametrize(("former", "now"), FORMER.items())
def test_former_names_tell_the_new_one(former: str, now: str) -> None:
    done = errands(*former.split(), "--at", "all")
    assert done.returncode == 2
    assert done.stderr == f"errands: `errands {former}` is now `errands {now}`; it has --help.\n"
    assert now.removeprefix("run ") in {*PATHS, "turk"}
    assert former not in PATHS


def test_options_have_one_name_each(commands: dict[str, Any]) -> None:
    for path, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert not options & {f"--{alias}" for alias in ALIASES}, path


def test_former_options_still_work(little: Catalog) -> None:
    assert "Reward:" in errands("demo", "--catalog", little.path).stdout
    product = little.product(0).asin
    drawn = errands("catalog", "picture", product, f"--catalog={little.path}")
    assert drawn.stdout.startswith("<svg")
    goals = ("catalog", "goals", little.path, "--generate", "1", "--kind", "human")
    assert "leave out --goals" in errands(*goals).stderr
    assert "Fridge" in errands("demo", "turk", "--tasks", "demo", "--task", "Fridge Notes").stdout
    # It is an option's name, not a command's.
    assert "No such command 'tasks'" in errands("tasks").stderr


def test_flags_have_no_type() -> None:
    for path in ("run", "report", "serve", "crowd export demonstrations", "transfer play"):
        shown = errands(*path.split(), "--help", COLUMNS="200").stdout
        assert "--help" in shown
        assert "bool" not in shown


def test_json_is_a_document_or_lines_and_says_so(commands: dict[str, Any]) -> None:
    told = {}
    for path, command in commands.items():
        for parameter in command.params:
            if "--json" in parameter.opts:
                told[path] = parameter.help
                form = r"(.+ )?Print (one JSON document|a line of JSON for each [a-z]+)\."
                assert re.fullmatch(form, parameter.help), path
    for path in ("catalog list", "catalog info", "data", "turk info"):
        assert told[path] == "Print one JSON document."
        assert isinstance(json.loads(errands(*path.split(), "--json").stdout), dict | list)
    for path in ("protocols", "agents", "turk conditions"):
        assert "a line of JSON for each" in told[path]
        lines = errands(*path.split(), "--json").stdout.splitlines()
        assert len([json.loads(line) for line in lines]) > 5


def test_no_folder_has_too_many_modules() -> None:
    folder = Path(cli.__file__).parent
    for each in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        assert len(list(each.glob("*.py"))) <= 16, each


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "turk", "--task", ""),
        ("demo", "shop", "--goals", " "),
        ("run", "shop-demo", "--agent", "rule", "--split", ""),
        ("serve", "--environments", "--token", ""),
    ],
)
def test_an_empty_value_is_not_read_as_none(words: tuple[str, ...]) -> None:
    """A variable of a script that was never set would play everything, or serve everybody."""
    refused = errands(*words)
    assert refused.returncode == 2
    assert "is empty; give it a value, or leave it out" in refused.stderr
