import contextlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from played import MemoryStore, made, run_info, watch_shop, write_report

from errands.errors import SettingError
from errands.reports.content import to_json
from errands.reports.writing import FORMATS, PageReplayer, ReportError, episode_page, report
from errands.runs.runner import run
from errands.runs.store.places import open_run


class Outline(HTMLParser):
    """What a page is made of: tags, ids, addresses."""

    VOID = frozenset("meta link input br img hr".split())

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        self.ids += [held["id"]] if "id" in held else []
        self.addresses += [held[n] for n in ("src", "href", "action", "srcset") if n in held]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] == "li" != tag:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_three_files_that_say_the_same(
    careful: MemoryStore, chance: MemoryStore, oracle: MemoryStore, tmp_path: Path
) -> None:
    paths = write_report([careful, chance, oracle], tmp_path / "new" / "place")
    assert [path.suffix[1:] for path in paths] == list(FORMATS)
    page, text, told = (path.read_text() for path in paths)
    score = json.loads(told)["runs"][0]["figures"]["score"]
    figure = f"{score['mean']:.1f}"
    assert figure in page
    assert figure in text
    outline = Outline(page)
    assert outline.wrong == []
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    inner = [a for a in outline.addresses if not a.startswith("data:")]
    assert all(a.startswith("#") and a[1:] in outline.ids for a in inner)
    assert page.count('class="episode ') == sum(len(s.numbers()) for s in (careful, chance, oracle))
    assert list((tmp_path / "new" / "place").glob(".*")) == []


@pytest.mark.parametrize("half", ["shop", "turk"])
@pytest.mark.parametrize("kind", ["empty", "errors", "one"])
def test_runs_with_little_in_them_are_reported(half: str, kind: str, tmp_path: Path) -> None:
    episodes = {"empty": [], "errors": [made(0, None), made(1, None)], "one": [made(0, 0.5)]}[kind]
    paths = write_report([MemoryStore(run_info(half, "x", 2), episodes)], tmp_path)
    page = paths[0].read_text()
    assert Outline(page).wrong == []
    assert "nan" not in re.sub(r'"packed">[^<]*<|id="sheets">[^<]*<|<script>.*?</script>', "", page,
                               flags=re.DOTALL).lower()  # fmt: skip
    assert ("There are no episodes" in page) == (kind == "empty")


def test_a_long_run_is_sampled_and_says_so(tmp_path: Path) -> None:
    episodes = [made(n, None if n % 40 == 0 else (n % 5) / 4) for n in range(500)]
    (path,) = write_report(
        [MemoryStore(run_info("shop", "x", 500), episodes)], tmp_path, formats=["html"]
    )
    page = path.read_text()
    assert page.count('class="episode ') == 200
    assert "200 of 500 episodes" in page


def test_one_episode_alone(careful: MemoryStore, tmp_path: Path) -> None:
    path = episode_page(careful, 3, tmp_path, watch=watch_shop)
    page = path.read_text()
    assert path.name == "episode-3.html"
    assert Outline(page).wrong == []
    assert careful.episode(3).steps[0].action in page
    with pytest.raises(SettingError, match="no episode 99; it has 0 to 11"):
        episode_page(careful, 99, tmp_path)


def test_bad_wishes_are_one_sentence(careful: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="'pdf'; expected html, md, json"):
        write_report([careful], tmp_path, formats=["pdf"])
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReportError, match="cannot be written"):
        write_report([careful], tmp_path / "file" / "below", formats=["md"])


def test_a_failure_on_the_way_leaves_the_old_report(careful: MemoryStore, tmp_path: Path) -> None:
    (path,) = write_report([careful], tmp_path, formats=["html"])
    before = path.read_bytes()

    def broken(info, episode):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        write_report([careful], tmp_path, formats=["html"], watch=broken)
    assert path.read_bytes() == before
    assert list(tmp_path.glob(".*")) == []


def test_a_report_of_200_episodes_is_small(careful: MemoryStore, tmp_path: Path) -> None:
    played = [careful.episode(n % 12) for n in range(200)]
    import msgspec

    episodes = [
        msgspec.structs.replace(one, summary=msgspec.structs.replace(one.summary, number=n))
        for n, one in enumerate(played)
    ]
    store = MemoryStore(run_info("shop", "careful", 200), episodes)
    (path,) = write_report([store], tmp_path, formats=["html"], watch=watch_shop)
    assert path.stat().st_size < 8_000_000
    assert path.read_text().count('class="packed"') == 200


def test_runs_are_given_by_place_by_store_or_as_a_result(tmp_path: Path) -> None:
    result = run("shop-demo", "rule", out=tmp_path / "rule", episodes=3)
    first = report(result)
    assert not (tmp_path / "out").exists()
    again = report(tmp_path / "rule", tmp_path / "out", formats=["json", "html"])
    assert to_json(again) == to_json(first) == (tmp_path / "out" / "report.json").read_bytes()
    assert "as text" in (tmp_path / "out" / "report.html").read_text()
    with contextlib.closing(open_run(tmp_path / "rule")) as store:
        assert report([store]) == first
        assert len(report([str(tmp_path / "rule"), store]).comparisons) == 1
    for wrong in (4, [4]):
        with pytest.raises(SettingError, match="4 is no run; expected a directory"):
            report(wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="at least one run"):
        report([])


def test_pages_that_cannot_be_played_again_are_told_of_once(careful: MemoryStore) -> None:
    reasons: list[str] = []
    info = msgspec.structs.replace(careful.info, checksum="other")
    replayer = PageReplayer(reasons.append)
    for number in (0, 1):
        assert replayer(info, careful.episode(number)) is None
    replayer.close()
    assert len(reasons) == 1
    assert "not shown again" in reasons[0]
