"""Protocols as data: the named ones, a user's own, and what is wrong with a file."""

from pathlib import Path

import msgspec
import pytest

from errands.runs.protocol import (
    Protocol,
    ProtocolError,
    find_protocol,
    named_protocols,
    read_protocols,
)


def test_the_named_protocols_are_those_of_the_field() -> None:
    known = named_protocols()
    assert {"webshop-paper", "webshop-200", "webshop-1k", "webshop-1k-legacy", "turk-test",
            "turk-challenge", "shop-demo", "turk-demo"} <= set(known)  # fmt: skip
    paper = known["webshop-paper"]
    assert (paper.goals, paper.split, paper.episodes, paper.max_steps) == (
        "human", "test", 500, 100,
    )  # fmt: skip
    assert "leaks" in known["webshop-1k-legacy"].warning
    assert known["turk-test"].per_task == 20
    assert all(held.version >= 1 and held.title for held in known.values())


def test_a_protocol_is_data() -> None:
    for held in named_protocols().values():
        again = msgspec.json.decode(msgspec.json.encode(held), type=Protocol)
        assert again == held


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ProtocolError, match="Did you mean 'webshop-1k'"):
        find_protocol("webshop_1k")
    with pytest.raises(ProtocolError, match="errands protocols"):
        find_protocol("qqqq")


def test_the_domain_is_understood_by_its_old_name_and_stored_by_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for name in ("new", "old"):
        said = "domain" if name == "new" else "half"
        with file.open("a") as more:
            more.write(f'[{name}]\nversion = 1\ntitle = "t"\n{said} = "turk"\ndata = "demo"\n')
    new, old = read_protocols(file).values()
    assert msgspec.structs.replace(new, id="old") == old
    assert msgspec.to_builtins(new)["half"] == new.domain == "turk"


def test_a_users_own_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[one]\nversion = 2\nhalf = "shop"\ndata = "demo"\nepisodes = 3\n')
    assert find_protocol(str(file)).id == "one"
    assert find_protocol(f"{file}#one").version == 2
    with file.open("a") as more:
        more.write('[two]\nversion = 1\nhalf = "turk"\ndata = "demo"\nper_task = 1\n')
    assert set(read_protocols(file)) == {"one", "two"}
    with pytest.raises(ProtocolError, match="several protocols"):
        find_protocol(str(file))
    with pytest.raises(ProtocolError, match="no protocol 'three'"):
        find_protocol(f"{file}#three")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a\n", "not TOML"),
        ("a = " + "[" * 5_000, "not TOML"),
        ("a = " + "9" * 5_000, "not TOML"),
        ("", "has no protocol"),
        ("x = 1\n", "stands outside"),
        ('[a]\nversion = 1\nhalf = "shop"\n', "data"),
        (
            '[a]\nversion = 1\nhalf = "shop"\ndata = "demo"\nepisode = 3\n',
            "did you mean 'episodes'",
        ),
        ('[a]\nversion = 1\nhalf = "mall"\ndata = "demo"\n', "`domain`"),
        ('[a]\nversion = 1\ndomain = "mall"\ndata = "demo"\n', "'mall': `domain`"),
        ('[a]\nversion = 1\ndata = "demo"\n', "missing required field `domain`"),
        ('[a]\nversion = 1\ndomane = "shop"\ndata = "demo"\n', "did you mean 'domain'"),
        (
            '[a]\nversion = 1\nhalf = "shop"\ndomain = "turk"\ndata = "demo"\n',
            "half is the old name of domain",
        ),
        ('[a]\nversion = 0\nhalf = "shop"\ndata = "demo"\n', "version must be 1 or more"),
        ('[a]\nversion = 1\nhalf = "shop"\ndata = "demo"\nper_task = 3\n', "means nothing"),
        ('[a]\nversion = "1"\nhalf = "shop"\ndata = "demo"\n', "version"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ProtocolError, match=sentence):
        read_protocols(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="cannot be read"):
        find_protocol(str(tmp_path / "none.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProtocolError, match="UTF-8"):
        find_protocol(str(binary))
