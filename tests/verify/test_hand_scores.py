"""Files of hand scores: kept at once, damaged ones told line by line."""

from pathlib import Path

import pytest

from errands.errors import DataError
from errands.verify.hand_scores import HandFile, HandScore, read_hand_scores

LINE = b'{"run":"r1","episode":1,"type":1.0,"attributes":[],"options":[],"price":true}\n'


def score(episode: int, **more: object) -> HandScore:
    given = {"type": 1.0, "attributes": (True,), "options": (), "price": True, **more}
    return HandScore(run="r1", episode=episode, **given)  # type: ignore[arg-type]


def test_what_is_added_is_there_and_the_last_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "hand.jsonl"
    with HandFile(path, "r1") as file:
        file.add(score(3, note="erst <b>"))
        file.add(score(5))
        assert read_hand_scores(path, "r1") == file.scores  # on the disk before anyone closes it
        file.add(score(3, price=False))
    assert len(path.read_text().splitlines()) == 3
    with HandFile(path, "r1") as again:
        assert again.scores == {3: score(3, price=False), 5: score(5)}


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "hand.jsonl"
    with HandFile(path, "r1") as file:
        file.add(score(1))
        file.add(score(2))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with HandFile(path, "r1") as file:
        # Only its newline may be missing: then it is whole.
        assert set(file.scores) == ({1, 2} if cut == 1 else {1})
        file.add(score(7))
    assert set(read_hand_scores(path, "r1")) == ({1, 2, 7} if cut == 1 else {1, 7})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"nonsense\n", "line 1 is not a hand score"),
        (b'\xff\xfe{"run"\n', "line 1 is not a hand score"),
        (b'{"run": "r1"}\n', "missing required field"),
        (LINE.replace(b"1.0", b"7"), "expected 1, 0.5, 0.1 or 0"),
        (LINE.replace(b"r1", b"r2"), "the run r2"),
    ],
)
def test_anything_else_is_told(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "hand.jsonl"
    path.write_bytes(text)
    for work in (lambda: read_hand_scores(path, "r1"), lambda: HandFile(path, "r1")):
        with pytest.raises(DataError, match=said):
            work()


def test_no_file_and_no_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_hand_scores(tmp_path / "none.jsonl", "r1")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot be (written|read)"):
        HandFile(tmp_path / "file" / "hand.jsonl", "r1")
    assert read_hand_scores(tmp_path / "file", "r1") == {}


def test_one_server_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    with HandFile(path, "r1") as file:
        with pytest.raises(DataError, match="another server"):
            HandFile(path, "r1")
        file.add(score(1))
    with HandFile(path, "r1") as file:
        assert set(file.scores) == {1}
