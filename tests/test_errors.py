"""Errors are sentences that somebody can read, whatever they quote."""

import importlib
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import errands
from errands.agents.registry import find_agent
from errands.errors import ErrandsError, SettingError, shortened
from errands.runs.protocol import find_protocol
from errands.turk.actions.grammar import parse_answer
from errands.web.core.http_errors import bad_request

HUGE = "x" * 100_000
WORDS = "a value of many words " * 5000


def every_kind() -> Iterator[type[ErrandsError]]:
    root = Path(errands.__file__).parent
    for path in root.rglob("*.py"):
        if re.search(r"^class \w+\(.*(Error|Conflict|Lost)\b", path.read_text(), re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
    waiting = [ErrandsError]
    while waiting:
        kind = waiting.pop()
        yield kind
        waiting += kind.__subclasses__()


@pytest.mark.parametrize("value", [HUGE, WORDS])
def test_no_kind_of_error_quotes_more_than_can_be_read(value: str) -> None:
    kinds = set(every_kind())
    assert len(kinds) > 40
    for kind in kinds:
        error = kind.__new__(kind)
        ErrandsError.__init__(error, f"There is no {value!r}; expected a word.")
        assert len(str(error)) <= 2000
        assert str(error).endswith("; expected a word.")
        if kind.__init__ is ErrandsError.__init__:
            assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    "ask",
    [
        lambda value: find_agent(value),
        lambda value: find_protocol(value),
        lambda value: parse_answer(f"fly({value}"),
        lambda value: (_ for _ in ()).throw(bad_request(f"There is no {value}.")),
    ],
)
@pytest.mark.parametrize("value", [HUGE, WORDS])
def test_what_is_wrong_is_quoted_in_short(ask: Callable[[str], Any], value: str) -> None:
    with pytest.raises(ErrandsError) as caught:
        ask(value)
    assert len(str(caught.value)) <= 2000
    assert len(getattr(caught.value, "message", "")) <= 2000


def test_what_can_be_read_is_left_as_it_is() -> None:
    sentence = "There is no catalogue /a/path/" + "that/is/long/" * 25 + "; run `errands data`."
    assert str(SettingError(sentence)) == sentence
    assert shortened(" ".join(["word"] * 399)) == " ".join(["word"] * 399)
