"""Garbage for every argument of every command: what is tried, and with what beside it.

`tried()` walks the command tree, so that a new option has garbage by its declared type; a new
command needs an entry in `BESIDE`, which says with what other arguments it works, and quickly.
"""

import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import typer

from errands.cli import app

__all__ = [
    "BESIDE",
    "PLAIN",
    "Parameter",
    "Trial",
    "make_device",
    "number_of",
    "parameters",
    "tried",
    "write_garbage",
]


@dataclass(frozen=True)
class Parameter:
    """An argument or option of a command."""

    command: str
    name: str
    option: str
    """How it is spelled; empty for what goes by its place."""
    kind: type
    is_list: bool
    metavar: str

    def __str__(self) -> str:
        return f"{self.command} {self.option or self.name}"


@dataclass(frozen=True)
class Trial:
    """A command line with one argument that is garbage."""

    parameter: Parameter
    kind: str
    words: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is no value of the type, and refused before anything is done."""
        return self.kind in PLAIN.get(self.parameter.kind, ())


NUMBERS: Final[Mapping[str, str]] = {
    "empty": "", "blank": " ", "word": "abc", "fraction": "1.5", "nan": "nan", "infinite": "inf",
    "minus infinite": "-inf", "hexadecimal": "0x10", "float": "1e3", "negative": "-1", "zero": "0",
    "32 bits": str(2**31), "64 bits": str(2**63), "huge": str(10**30),
    "negative huge": str(-(10**30)), "5000 digits": "9" * 5000, "float's end": "1e308",
    "beyond floats": "1e999", "tiny": "1e-320", "list": "1,2", "escape": "\x1b[31m1",
    "surrogate": "\udcff", "newline": "1\n2", "dashes": "--",
}  # fmt: skip

PLAIN: Final[Mapping[type, frozenset[str]]] = {
    bool: frozenset({"word", "empty", "number", "escape", "surrogate"}),
    int: frozenset(NUMBERS) - {"negative", "zero", "32 bits"},
    float: frozenset(NUMBERS).difference(
        *(("fraction", "float", "zero", "negative", "tiny"),),
        *(("32 bits", "64 bits", "huge", "negative huge"),),
    ),
}
"""What is no value of its type, whatever it is for: always refused."""

TEXTS: Final[Mapping[str, str]] = {
    "empty": "", "blank": " ", "dash": "-", "missing": "no/such/place",
    "escape": "\x1b[31m\x07", "newline": "a\nb", "surrogate": "\udcff\udcfe",
    "direction": "ß∞\u202e💥", "long": "x" * 100_000, "long name": "x" * 300, "number": "7",
    "negative": "-1", "nan": "nan", "brackets": "[/b][red]",
    "json": '{"a": 1}', "equals": "=", "pair": "x=y",
    "colon": ":", "foreign": "http://shop.example/x", "closed port": "http://127.0.0.1:1/x",
    "file url": "file:///etc/hostname", "no url": "http://[::1/x",
    "database": "postgresql://nobody@127.0.0.1:1/x",
    "no database": "postgresql://[", "no module": "no.such.module:thing",
    "no attribute": "os:nothing",
    "other attribute": "os:sep", "home": "~nobody9/x", "slice": "demo#x",
    "device": "{g}/device", "process": "/proc/self/mem",
    "folder": "{g}/folder", "empty file": "{g}/empty", "binary": "{g}/binary",
    "text": "{g}/text.txt", "below a file": "{g}/text.txt/below", "loop": "{g}/loop",
    "torn json": "{g}/torn.json", "deep json": "{g}/deep.json",
    "null.json": "{g}/null.json", "objects.json": "{g}/objects.json",
    "object.json": "{g}/object.json", "nan.json": "{g}/nan.json", "lines": "{g}/lines.jsonl",
    "torn toml": "{g}/torn.toml", "other toml": "{g}/other.toml", "latin": "{g}/latin.csv",
    "table": "{g}/table.csv", "other database": "{g}/other.sqlite",
    "torn database": "{g}/torn.sqlite", "zip": "{g}/a.zip", "gzip": "{g}/a.json.gz",
    "array": "{g}/a.npz", "page": "{g}/a.html",
    "catalogue": "{m}/shop", "run": "{m}/run", "form run": "{m}/forms",
    "submission": "{m}/board/a.errands.json.gz",
    "items": "{m}/items.json", "transfer run": "{m}/transfer.jsonl",
    "site": "{m}/site.sqlite",
}  # fmt: skip

FLAGS: Final[Mapping[str, str]] = {
    "word": "garbage", "empty": "", "number": "1", "escape": "\x1b[31m", "surrogate": "\udcff",
}  # fmt: skip

_SHOP: Final = {"--data": "{m}/shop"}
_TORCH: Final = {"--out": "out", "--epochs": "1", "--threads": "1"}
_STUDY: Final = {"--quick": None, "--seeds": "1", "--data": "{m}/shop"}

BESIDE: Final[Mapping[str, Mapping[str, str | None]]] = {
    "demo shop": _SHOP,
    "demo turk": {},
    "demo tour": {"--out": "out"},
    "run": {
        "protocol": "shop-demo", "--agent": "random", "--episodes": "1", "--out": "out", **_SHOP,
    },
    "report": {"places": "{m}/run", "--out": "out"},
    "replay": {"run": "{m}/run"},
    "export": {"run": "{m}/run", "path": "out.jsonl"},
    "submit": {"run": "{m}/run", "--out": "out.errands.json.gz"},
    "leaderboard": {"folder": "{m}/board", "--out": "out", "--workers": "1"},
    "protocols": {},
    "agents": {},
    "data": {"name": "webshop-1k", "--from": "{g}/folder", "--out": "out"},
    "catalog build": {
        "out": "out", "--items": "{m}/items.json", "--attributes": "{m}/attributes.json",
        "--workers": "1",
    },
    "catalog generate": {"out": "out", "--products": "20", "--workers": "1"},
    "catalog export": {
        "catalog": "{m}/shop", "--items": "out.json", "--attributes": "attributes.json",
    },
    "catalog info": {"catalog": "{m}/shop", "--quick": None},
    "catalog list": {},
    "catalog verify": {"catalog": "{m}/shop"},
    "catalog goals": {"catalog": "{m}/shop", "--out": "out.json", "--limit": "3"},
    "catalog nouns": {"title": "red shoes"},
    "catalog queries": {"catalog": "{m}/shop", "--out": "out.json"},
    "catalog picture": {"asin": "{asin}", "--out": "out.svg", **_SHOP},
    "search": {"words": "red shoes", **_SHOP},
    "mine map": {"products": "{m}/products.csv", "--out": "out.toml"},
    "mine products": {"products": "{m}/products.csv", "--out": "out.json"},
    "mine attributes": {"--items": "{m}/items.json", "--out": "out.json"},
    "mine review": {
        "candidates": "{m}/candidates.json", "--decisions": "out.jsonl", "--accept": "all",
    },
    "mine assign": {
        "--items": "{m}/items.json", "--candidates": "{m}/candidates.json", "--out": "out.json",
        "--accept-rest": None,
    },
    "mine shop": {"products": "{m}/products.csv", "--out": "out"},
    "turk info": {},
    "turk verify": {"--task": "Fridge Notes", "--driver": "dom", "--instances": "1"},
    "turk oracle-actions": {"--out": "out.jsonl", "--driver": "dom", "--limit": "1"},
    "turk score": {"predictions": "{m}/predictions.jsonl", "--driver": "dom"},
    "turk compare": {"--plays": "1"},
    "turk challenge": {"--instances": "1"},
    "turk conditions": {},
    "crowd info": {"store": "{m}/site.sqlite"},
    "crowd import-logs": {"folder": "{m}/logs", "--out": "out", **_SHOP},
    "crowd export instructions": {"store": "{m}/site.sqlite", "--out": "out.json"},
    "crowd export demonstrations": {"store": "{m}/site.sqlite", "--out": "out", **_SHOP},
    "train demonstrations": {"out": "out", "--episodes": "2", "--workers": "1", **_SHOP},
    "train choice": {"demonstrations": "{m}/demos", "--width": "8", **_TORCH},
    "train search": {"demonstrations": "{m}/demos", **_TORCH},
    "train queries": {"checkpoint": "{m}/search", "--out": "out.json", "--split": "test", **_SHOP},
    "train rl": {
        "--out": "out", "--from": "{m}/il", "--total-timesteps": "40", "--threads": "1",
        "--evaluate-every": "0", **_SHOP,
    },
    "train dagger": {
        "--out": "out", "--num-iterations": "1", "--num-envs": "2", "--num-steps": "4",
        "--threads": "1", "--evaluate-every": "0", **_SHOP,
    },
    "train ppo": {
        "--out": "out", "--from": "{m}/il", "--total-timesteps": "40", "--num-envs": "2",
        "--threads": "1", "--evaluate-every": "0", **_SHOP,
    },
    "train pictures": {"--out": "out.npz", "--epochs": "1", "--width": "4", **_SHOP},
    "serve": {"--store": "out.sqlite", "--port": "0", **_SHOP},
    "mcp": {"--protocol": "shop-demo", **_SHOP},
    "experiment table": _STUDY,
    "experiment queries": _STUDY,
    "experiment chance": _STUDY,
    "experiment pictures": _STUDY,
    "experiment search": _STUDY,
    "experiment pretrained": {**_STUDY, "--encoder": "{m}/run"},
    "experiment human-queries": {
        "pairs": "{m}/pairs.json", "--seeds": "1", "--epochs": "1", "--out": "out",
    },
    "experiment people": {"runs": "{m}/run"},
    "experiment travel": {**_STUDY, "--goals": "4"},
    "experiment calibration": {"--products": "1000", "--seed": "1", "--out": "out"},
    "experiment nouns": {"--items": "{m}/items.json", "--limit": "5"},
    "transfer play": {
        "--site": "webshop", "--instruction": "red shoes", "--pages": "{m}/pages",
        "--out": "out.jsonl",
    },
    "transfer read": {"file": "{m}/pages/item.html", "--site": "amazon"},
    "transfer score": {"run": "{m}/transfer.jsonl", "--form": "out.csv"},
    "transfer table": {"runs": "{m}/transfer.jsonl"},
    "transfer compare": {"folder": "{m}/pages"},
    "verify-reward": {"run": "{m}/run", "--rules": "paper"},
    "bench shop": {"--steps": "1000", **_SHOP},
    "bench pixels": {"--steps": "8", **_SHOP},
    "bench turk": {"--instances": "1", "--driver": "dom"},
    "bench runs": {"--episodes": "100", **_SHOP},
    "bench search": {"--queries": "100", **_SHOP},
    "bench scale": {"--sizes": "100", "--out": "out", "--workers": "1"},
    "bench ray": {"--episodes": "1000", **_SHOP},
    "bench serve": {"--sessions": "1", "--seconds": "1", **_SHOP},
    "bench site": {"--shoppers": "1", "--seconds": "1", **_SHOP},
    "bench soak": {"--minutes": "0.1", "--clients": "10", **_SHOP},
    "bench start": {"--starts": "1", **_SHOP},
    "bench install": {"--out": "out.md"},
    "bench vector": {"--sizes": "1", "--steps": "100", **_SHOP},
    "bench all": {"--out": "out", "--quick": None, "--only": "Starting", **_SHOP},
}  # fmt: skip
"""Of each command: what else is said, so that only the garbage is wrong, and little work is done
where it is taken. Names without dashes go by their place."""


LONG: Final = ("experiment ", "bench ", "demo tour", "turk compare", "turk challenge", "mcp")
"""Commands that work for long where the garbage is taken: what they may take is not tried."""
_TAKEN: Final[Mapping[type, frozenset[str]]] = {
    int: frozenset({"32 bits", "zero"}),
    float: frozenset({"fraction", "float", "32 bits", "64 bits", "huge", "tiny"}),
    str: frozenset({"catalogue", "empty"}),
}
_NO_PLACES: Final = frozenset(
    {"device", "process", "empty file", "binary", "text", "below a file", "loop", "long",
     "long name", "other database", "zip", "submission", "surrogate"}
)  # fmt: skip


def _is_tried(parameter: Parameter, kind: str) -> bool:
    if not parameter.command.startswith(LONG):
        return True
    if parameter.name in ("out", "only"):
        return kind in _NO_PLACES
    return kind not in _TAKEN.get(parameter.kind, ())


def parameters() -> Iterator[Parameter]:
    """Every argument and option of every command."""
    root: Any = typer.main.get_command(app)
    with typer.Context(root, info_name="errands") as context:
        for name in root.list_commands(context):
            _, command, _ = root.resolve_command(context, [name])
            yield from _parameters(command, name)


def _parameters(command: Any, path: str) -> Iterator[Parameter]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _parameters(inner, f"{path} {name}")
    if hasattr(command, "commands"):
        return
    for one in command.params:
        kind = one.type_descriptor.annotation
        is_option = one.param_type_name == "option"
        for option in (*one.opts, *one.secondary_opts) if is_option else ("",):
            yield Parameter(
                path,
                str(one.name),
                option,
                (get_args(kind) or (kind,))[0],
                bool(one.nargs == -1 or getattr(one, "multiple", False)),
                one.metavar or "",
            )


def garbage_of(parameter: Parameter) -> Mapping[str, str]:
    """By kind, the values to try."""
    kind = parameter.kind
    if kind is bool:
        return FLAGS
    return NUMBERS if kind in (int, float) else TEXTS


def tried() -> Iterator[Trial]:
    """Every kind of garbage for every parameter, the others as they should be."""
    for parameter in parameters():
        for kind, value in garbage_of(parameter).items():
            if not _is_tried(parameter, kind):
                continue
            yield Trial(parameter, kind, _words(parameter, value))


def _words(parameter: Parameter, value: str) -> tuple[str, ...]:
    options: list[str] = []
    places: dict[str, str] = {}
    for name, other in BESIDE[parameter.command].items():
        if not name.startswith("-"):
            places[name] = str(other)
        elif name != parameter.option:
            options += [name] if other is None else [f"{name}={other}"]
    if parameter.option.startswith("--"):
        options.append(f"{parameter.option}={value}")
    elif parameter.option:
        options += [parameter.option, value]
    else:
        places[parameter.name] = value
    return (*parameter.command.split(), *options, "--", *places.values())


def number_of(trial: Trial) -> int:
    """The same in every process: for samples."""
    return zlib.crc32(f"{trial.parameter} {trial.kind}".encode())


def make_device(path: Path) -> None:
    """One that is always full: our own where it can be made, as a command could replace it."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        path.symlink_to("/dev/full")


def write_garbage(folder: Path) -> None:
    """The files that texts of garbage name."""
    (folder / "folder").mkdir(parents=True)
    (folder / "loop").symlink_to("loop")
    contents: dict[str, bytes] = {
        "empty": b"", "binary": bytes(range(256)) * 8, "text.txt": b"Nothing but words.\n",
        "torn.json": b'{"goals": [{"asin": "B0', "deep.json": b"[" * 100_000,
        "number.json": b"1", "null.json": b"null", "list.json": b'["a", null, 1]',
        "objects.json": b'[{"a": 1}, {"asin": null, "name": 5}]',
        "object.json": b'{"goals": 5, "key": {"a": []}, "version": "x"}',
        "nan.json": b'{"a": NaN, "b": Infinity, "c": 1e999}',
        "lines.jsonl": b'{"a": 1}\nnull\n[]\n{"task": "Fridge Notes", "row": "x"}\n{"tor',
        "torn.toml": b"[p\nversion =", "other.toml": b"[x]\na = 1\nversion = \"x\"\n[y]\n",
        "latin.csv": "sku,title\n1,Caf\xe9\n".encode("latin-1"), "table.csv": b"a,b\n1\n1,2,3\n\"",
        "torn.sqlite": b"SQLite format 3\0" + bytes(range(256)) * 16,
        "a.html": b"<html><title>x</title><form>", "a.npz": b"PK\x05\x06" + bytes(18),
    }  # fmt: skip
    import gzip
    import io
    import zipfile

    packed = gzip.compress(b'{"version": 1}', mtime=0)
    contents |= {"a.json.gz": packed, "torn.json.gz": packed[:-9]}
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("../outside.txt", "x")
        contents["a.zip"] = file.getvalue()
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    with sqlite3.connect(folder / "other.sqlite") as database:
        database.execute("CREATE TABLE about (name TEXT)")
    database.close()
