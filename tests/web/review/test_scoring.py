"""Scores by hand over HTTP: blind, kept at once, corrected, never lost by a mistake."""

from pathlib import Path

import pytest
from scoring_served import played, read, scoring_served

from errands.shop.catalog.catalog import Catalog
from errands.verify.hand_scores import read_hand_scores, read_judged
from errands.verify.verification import Material, sample

MACHINE = ("released", "Mean scores", "Pearson")


@pytest.fixture(scope="module")
def material(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return read(played(little, tmp_path_factory.mktemp("runs") / "run"))


def test_a_person_scores_everything(material: Material, tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    chosen = sample(material, 4, 0)
    with scoring_served(material, path) as desk:
        assert desk.ask("/")[2] == "/scoring"
        status, page, _ = desk.ask("/scoring")
        assert (status, "0 of 4 scored" in page) == (200, True)
        for place, one in enumerate(chosen, 1):
            status, page, _ = desk.ask(f"/scoring/{place}")
            assert status == 200
            assert "<h2>Instruction</h2>" in page
            assert all(word not in page for word in MACHINE), "blind until the end"
            ticks = [("attribute", "0"), ("type", "0.5" if place == 2 else "1"), ("note", "<b>hm")]
            status, _, where = desk.score(place, *ticks)
            assert (status, where) == (303, f"/scoring/{place + 1}" if place < 4 else "/scoring")
            kept = read_hand_scores(path, material.info.id)[one.number]
            assert kept.attributes == (True, *[False] * (len(one.goal.attributes) - 1))
            assert (kept.price, kept.note) == (False, "<b>hm")
            if place < 4:
                page = desk.ask("/scoring")[1]
                assert all(word not in page for word in MACHINE), "blind until the end"
        page = desk.ask("/scoring")[1]
        assert "4 of 4 scored" in page
        assert all(word in page for word in (*MACHINE, "by hand"))
        again = desk.ask("/scoring/2")[1]
        assert 'value="0.5" required checked' in again
        assert "&lt;b&gt;hm" in again
        desk.score(2, ("type", "0"))
        assert read_hand_scores(path, material.info.id)[chosen[1].number].type == 0.0
    with scoring_served(material, path) as desk:
        assert "4 of 4 scored" in desk.ask("/scoring")[1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([], "one of the four"),
        ([("type", "7")], "one of the four"),
        ([("type", "nan")], "one of the four"),
        ([("type", "1"), ("note", "x" * 3000)], "2,000 characters"),
    ],
)
def test_mistakes_keep_what_was_ticked(
    material: Material, tmp_path: Path, fields: list[tuple[str, str]], said: str
) -> None:
    path = tmp_path / "hand.jsonl"
    with scoring_served(material, path) as desk:
        status, page, _ = desk.score(1, ("price", "1"), *fields)
        assert status == 400
        assert said in page
        assert 'name="price" value="1" checked' in page
    assert path.read_text() == ""


def test_strangers_and_nonsense_are_turned_away(material: Material, tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    good = [("type", "1"), ("price", "1")]
    with scoring_served(material, path) as desk:
        status, page, _ = desk.ask("/scoring/1", [("check", "guess"), *good])
        assert status == 400
        assert "save it once more" in page
        assert 'name="price" value="1" checked' in page
        sent = [("check", desk.check(1)), *good]
        assert desk.ask("/scoring/1", sent, Origin="https://example.org")[0] == 403
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
            assert desk.ask("/scoring/1", Host=host)[0] == 421
            assert desk.ask("/scoring/1", sent, Host=host, Origin=f"http://{host}")[0] == 421
        for host in ("127.0.0.1", "LocalHost:1", "[::1]", "[::1]:80"):
            assert desk.ask("/scoring/1", Host=host)[0] == 200
        for address in ("/scoring/0", "/scoring/5", "/scoring/99999999999999999999"):
            assert desk.ask(address)[0] == 404
        assert desk.ask("/nothing")[0] == 404
        assert desk.ask("/scoring/1", method="DELETE")[0] == 405
        assert desk.ask("/scoring/1", [("note", "x" * 2_000_000)])[0] == 413
        wild = [("attribute", "99"), ("attribute", "-1"), ("option", "x"), ("attribute", "0")]
        assert desk.score(1, *good, *wild)[0] == 303
        assert '"/scoring"' in desk.ask("/openapi.json")[1]
        assert "errands_hand_scores_saved 1" in desk.ask("/metrics")[1]
    (kept,) = read_hand_scores(path, material.info.id).values()
    assert sum(kept.attributes) == 1
    assert not any(kept.options)


def test_a_named_judge_an_interval_and_the_export(material: Material, tmp_path: Path) -> None:
    path = tmp_path / "hand.jsonl"
    with scoring_served(material, path, 2, "ann", 0.05) as desk:
        page = desk.ask("/scoring")[1]
        assert "You score as ann" in page
        assert "381 judgements give ±5 points" in page, "the worst case: it gives nothing away"
        status, page, _ = desk.ask("/scoring/judged.csv")
        assert (status, "once every purchase is scored" in page) == (409, True)
        desk.score(1)
        page = desk.ask("/scoring")[1]
        assert "judged.csv" not in page
        assert all(word not in page for word in MACHINE)
        desk.score(2)
        page = desk.ask("/scoring")[1]
        assert "How many judgements are needed" in page
        assert "/scoring/judged.jsonl" in page
        status, text, _ = desk.ask("/scoring/judged.csv")
        assert (status, text.partition(",")[0]) == (200, "run")
        assert len(desk.ask("/scoring/judged.jsonl")[1].splitlines()) == 2
        assert desk.ask("/scoring/judged.xls")[0] == 404
    assert set(read_judged(path, material.info.id)) == {"ann"}
    with scoring_served(material, path, 2, "bob") as desk:
        assert "0 of 2 scored" in desk.ask("/scoring")[1], "each judge has scores of their own"
        desk.score(1)
        assert "ann" not in desk.ask("/scoring")[1], "blind to other judges, too"
        desk.score(2, ("type", "0"))
        page = desk.ask("/scoring")[1]
        assert "<h2>bob and ann</h2>" in page
        assert "What they see differently" in page
