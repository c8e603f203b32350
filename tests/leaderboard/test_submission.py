"""Files of strangers: what is read, what is refused, and that nothing else happens."""

import contextlib
import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from effort import effort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errands.leaderboard import submission
from errands.leaderboard.submission import (
    SubmissionError,
    actions_digest,
    pack,
    read_submission,
    unpack,
)


@pytest.fixture
def data(send: Callable[..., Path]) -> bytes:
    return send("rule").read_bytes()


def held(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(data))
    return found


def packed(value: Any) -> bytes:
    return gzip.compress(json.dumps(value).encode())


def test_the_same_run_gives_the_same_bytes(send: Callable[..., Path]) -> None:
    one, other = send("rule", "one"), send("rule", "other")
    assert one.read_bytes() == other.read_bytes()
    run, digest = read_submission(one)
    assert pack(run) == one.read_bytes()
    assert len(digest) == 64


def test_the_hash_is_of_what_is_said_and_not_of_how_it_is_packed(data: bytes) -> None:
    again = gzip.compress(gzip.decompress(data), compresslevel=1)
    assert again != data
    assert unpack(again, "x")[1] == unpack(data, "x")[1]


def test_halves_of_surrogate_pairs_come_back(data: bytes) -> None:
    run, _ = unpack(data, "x")
    odd = ("search[\ud83d]", *run.episodes[0].actions[1:])
    first = msgspec.structs.replace(run.episodes[0], actions=odd)
    changed = msgspec.structs.replace(run, episodes=(first, *run.episodes[1:]))
    assert unpack(pack(changed), "x")[0] == changed
    assert actions_digest(odd) != actions_digest(run.episodes[0].actions)


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "another format": ({"format": 2}, "no submission of format 1"),
    "no format": ({"format": None}, "no submission of format 1"),
    "an unknown field": ({"more": 1}, "unknown field `more`"),
    "an unknown kind": ({"kind": "words"}, "Invalid enum value"),
    "no episodes": ({"episodes": []}, "expected 1 to 100,000"),
    "a seed below 0": ({"seed": -1}, "out of range"),
    "a long checksum": ({"checksum": "f" * 300}, "too long"),
    "no time": ({"started": "yesterday"}, "not a time in UTC"),
    "no day": ({"started": "9999-99-99T99:99:99Z"}, "not a time in UTC"),
    "long versions": ({"versions": {"errands": "1" * 200}}, "versions are too long"),
    "many remarks": ({"remarks": ["a"] * 51}, "too long"),
    "half a letter in the protocol": ({"protocol": {"id": "\ud800"}}, "not Unicode"),
    "a number that nobody can store": ({"protocol": {"identity": {"n": 10**30}}}, "64 bits"),
    "half a letter as a kind": ({"kind": "\ud800"}, "surrogates not allowed"),
    "a large protocol": ({"protocol": {"id": "x" * 30_000}}, "longer than 20000"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_submission_cannot_say(change: tuple[dict[str, Any], str], data: bytes) -> None:
    fields, reason = change
    with pytest.raises(SubmissionError, match=reason) as caught:
        unpack(packed(held(data) | fields), "x")
    assert str(caught.value).startswith("x ")
    assert str(caught.value).endswith(".")


CARDS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": " "}, "no name"),
    "a long name": ({"name": "n" * 101}, "longer than 100"),
    "a long note": ({"note": "n" * 2001}, "longer than 2000"),
    "a script as address": ({"url": "javascript:alert(1)"}, "not a web address"),
    "an address with a quote": ({"url": 'https://x/"onload=1'}, "not a web address"),
    "writing turned around": ({"name": "good\u202ebad"}, "cannot be printed"),
    "cost below 0": ({"cost": -1}, "out of range"),
    "half a letter in the settings": ({"settings": {"\ud800": 1}}, "not Unicode"),
    "large settings": ({"settings": {"a": "x" * 30_000}}, "longer than 20000"),
}


@pytest.mark.parametrize("change", CARDS.values(), ids=CARDS.keys())
def test_what_an_agent_cannot_say(change: tuple[dict[str, Any], str], data: bytes) -> None:
    fields, reason = change
    value = held(data)
    value["agent"] |= fields
    with pytest.raises(SubmissionError, match=reason):
        unpack(packed(value), "x")


EPISODES: dict[str, tuple[int, Any, str]] = {
    "a reward above 1": (2, 1.5, "from 0 to 1"),
    "no reward": (2, None, "an error has no reward"),
    "a reward that is none": (2, "1", "Expected `float"),
    "an unknown end": (1, "won", "Invalid enum value"),
    "steps that are not there": (3, 99, "actions and says 99 steps"),
    "steps below 0": (3, -1, "out of range"),
    "more steps than may be": (3, 10_001, "more than 10,000 steps"),
    "a digest": (4, "0" * 24, "not those of the kind"),
    "a long action": (4, ["x" * 100_001] * 3, "longer than 100000"),
    "a long key": (0, "k" * 1001, "longer than 1000"),
}


@pytest.mark.parametrize("change", EPISODES.values(), ids=EPISODES.keys())
def test_what_an_episode_cannot_say(change: tuple[int, Any, str], data: bytes) -> None:
    place, wrong, reason = change
    value = held(data)
    assert value["episodes"][1][3] == 3  # `rule` takes three steps.
    value["episodes"][1][place] = wrong
    with pytest.raises(SubmissionError, match=reason):
        unpack(packed(value), "x")


def test_too_many_steps_in_all_are_refused(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MOST_STEPS_IN_ALL", 20)
    with pytest.raises(SubmissionError, match="more than 20 steps"):
        unpack(data, "x")


def test_what_is_large_is_not_unpacked() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    million = b" " * (1 << 20)
    data = b"".join([*(bomb.compress(million) for _ in range(200)), bomb.flush()])
    assert len(data) < 1 << 20
    with pytest.raises(SubmissionError, match="unpacks to more than 64 MB"):
        unpack(data, "x")
    with pytest.raises(SubmissionError, match="larger than 16 MB"):
        unpack(b"\0" * ((16 << 20) + 1), "x")


@pytest.mark.parametrize("value", [b"{}", b"[]", b'"ab"', b'{"":0}', b'"\\"\\\\"'])
def test_more_values_than_a_submission_has_are_not_made(value: bytes) -> None:
    count = submission.MOST_VALUES // max(1, value.count(b":") * 2) + 1
    text = b'{"format":1,"protocol":[' + (value + b",") * count + b"0]}"
    data = gzip.compress(text)
    assert len(data) < 1 << 20
    tracemalloc.start()
    with pytest.raises(SubmissionError, match="more than 4,000,000 values"):
        unpack(data, "x")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100 << 20


@given(
    st.recursive(
        st.none() | st.text(max_size=3) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    )
)
def test_values_are_never_more_than_are_counted(value: Any) -> None:
    def count(one: Any) -> int:
        if isinstance(one, dict):
            return 1 + sum(1 + count(each) for each in one.values())
        return 1 + sum(map(count, one)) if isinstance(one, list) else 1

    for ascii in (True, False):
        text = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
        counted = submission._values(np.frombuffer(text, np.uint8), len(text), 1 << 30)
        assert count(value) <= counted <= 2 * count(value)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"PK" + data, "not packed by gzip"),
        (lambda data: data[:-20], "cut off"),
        (lambda data: data + data, "behind its end"),
        (lambda data: b"", "cut off"),
        (lambda data: gzip.compress(b""), "does not hold JSON"),
        (lambda data: gzip.compress(b"[" * 100_000), "does not hold JSON"),
        (lambda data: gzip.compress(b'{"format": NaN}'), "does not hold JSON"),
        (lambda data: gzip.compress(b'{"format": 1' + b"0" * 5000 + b"}"), "does not hold JSON"),
        (lambda data: gzip.compress(b'{"format": 1, "cost": 1e999}'), "does not hold JSON"),
        (lambda data: gzip.compress(b"\xff\xfe"), "does not hold JSON"),
        (lambda data: gzip.compress(b"7"), "no submission of format"),
    ],
)
def test_what_is_damaged_is_told(damage: Any, reason: str, data: bytes) -> None:
    with pytest.raises(SubmissionError, match=reason):
        unpack(damage(data), "x")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="cannot be read"):
        read_submission(tmp_path / "none.errands.json.gz")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=effort(40, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_anywhere_is_read_or_refused(data: bytes, drawn: st.DataObject) -> None:
    """Whatever stands in a place of a submission, reading ends in a sentence or a submission."""
    value: Any = held(data)
    at = value
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(min(len(at), 3)))
        key = drawn.draw(st.sampled_from(keys))
        inner = at[key]
        if not isinstance(inner, dict | list) or not inner or drawn.draw(st.booleans()):
            at[key] = drawn.draw(JSON)
            break
        at = inner
    with contextlib.suppress(SubmissionError):
        unpack(packed(value), "x")
