"""All regular expressions of the package, as they stand in its source, and how each is used."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["SOURCE", "UsedPattern", "used_patterns"]

SOURCE = Path(__file__).resolve().parents[2] / "src" / "errands"

_FUNCTIONS = frozenset(
    ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
)


class UsedPattern(NamedTuple):
    """A pattern, where it stands (`shop/product.py: _NAME`), and whether it is tried at one place
    only (`anchored`) and has to fit all of a text (`whole`). What is put together at run time has
    no `pattern` here."""

    place: str
    pattern: str | bytes | None
    flags: int
    anchored: bool
    whole: bool


def used_patterns() -> Iterator[UsedPattern]:
    """Every call of `re` in the package."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if re.search(r"\bimport re\b|\bfrom re\b", text):
            yield from _Module(path, ast.parse(text)).patterns()


class _Module:
    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.path, self.tree = path, tree
        self.names = {child: parent for parent in ast.walk(tree) for child in _children(parent)}

    def patterns(self) -> Iterator[UsedPattern]:
        assert not any(
            isinstance(node, ast.ImportFrom) and node.module == "re" for node in ast.walk(self.tree)
        ), f"{self.path}: `import re`, so that its patterns are found"
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and node.func.attr in _FUNCTIONS
            ):
                yield self._pattern(node, node.func.attr)

    def _pattern(self, call: ast.Call, function: str) -> UsedPattern:
        name = self._name(call)
        ways = {function} if function != "compile" else self._uses(name)
        shown = f"{self.path.relative_to(SOURCE)}: {name or self._function(call)}"
        anchored = bool(ways) and ways <= {"match", "fullmatch"}
        return UsedPattern(
            shown,
            self._value(call.args[0]),
            self._flags(call, function),
            anchored,
            bool(ways) and ways <= {"fullmatch"},
        )

    def _name(self, call: ast.AST) -> str:
        """The name that a compiled pattern is given; empty for others."""
        parent = self.names.get(call)
        if isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
            return parent.target.id
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return parent.targets[0].id
        return ""

    def _function(self, node: ast.AST) -> str:
        while node in self.names and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node = self.names[node]
        return f"{node.name}()" if hasattr(node, "name") else "(module)"

    def _uses(self, name: str) -> set[str]:
        """The methods that are called on a name; `search`, the costliest, for all else."""
        if not name.startswith("_"):
            return {"search"}
        ways: set[str] = set()
        for node in ast.walk(self.tree):
            own = (isinstance(node, ast.Name) and node.id == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            )
            if own and isinstance(node.ctx, ast.Load):
                method = self.names[node]
                call = self.names.get(method)
                if (
                    isinstance(method, ast.Attribute)
                    and isinstance(call, ast.Call)
                    and call.func is method
                ):
                    ways.add(method.attr)
                else:
                    ways.add("search")
        return ways

    def _value(self, node: ast.expr) -> str | bytes | None:
        value = self._evaluated(node)
        return value if isinstance(value, (str, bytes)) else None

    def _flags(self, call: ast.Call, function: str) -> int:
        place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(function, 2)
        given = [word.value for word in call.keywords if word.arg == "flags"]
        given += call.args[place : place + 1]
        return int(self._evaluated(given[0])) if given else 0

    def _evaluated(self, node: ast.expr) -> Any:
        """The value of an expression of constants and the module's own names; None if it is made
        of anything else."""
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - {"re"}
        namespace: dict[str, Any] = {"re": re}
        if names:
            module = self.path.relative_to(SOURCE.parent).with_suffix("")
            namespace = vars(importlib.import_module(".".join(module.parts)))
        try:
            return eval(compile(ast.Expression(node), str(self.path), "eval"), dict(namespace))
        except NameError:
            return None


def _children(node: ast.AST) -> Iterator[ast.AST]:
    yield from ast.iter_child_nodes(node)
