"""The site: complete, self-contained, safe, and the same for the same board."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from submissions import rewritten

from errands.leaderboard.board import leaderboard
from errands.leaderboard.site.writing import write_site
from errands.leaderboard.submission import SubmissionError, read_submission

replace = msgspec.structs.replace
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and every anchor."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.ids = {attributes["id"] for _, attributes in self.tags if "id" in attributes}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


@pytest.fixture
def site(send: Callable[..., Path], folder: Path, places: dict[str, str], tmp_path: Path) -> Path:
    """A site with all that can be on one, among it names that would act."""
    for agent in ("random", "rule", "choice-oracle"):
        send(agent)
    send(
        "careful", name=HOSTILE[:100], authors=HOSTILE, note=HOSTILE, url="https://example.org/?a=1"
    )
    rewritten(
        send("rule", "wrong", name=f"{HOSTILE[:90]} 2"),
        lambda run: replace(run, figures=replace(run.figures, errors=3)),
    )
    rewritten(
        send("rule", "elsewhere", name=f"{HOSTILE[:90]} 3"),
        lambda run: replace(run, protocol={**run.protocol, "data": HOSTILE, "title": HOSTILE}),
    )
    (folder / "broken.errands.json.gz").write_bytes(b"PK" * 20)
    return write_site(leaderboard(folder, places), tmp_path / "site").parent


def pages(site: Path) -> dict[Path, Tags]:
    return {path: Tags(path) for path in site.rglob("*.html")}


def test_every_link_leads_somewhere(site: Path) -> None:
    found = pages(site)
    assert len(found) > 4 * 12
    for path, page in found.items():
        for tag, attributes in page.tags:
            target = attributes.get("href", "")
            parts = urlsplit(target)
            if parts.scheme:
                assert (tag, target) == ("a", "https://example.org/?a=1")
                assert attributes["rel"] == "nofollow noopener noreferrer"
                continue
            if not target:
                continue
            file = (path.parent / parts.path).resolve() if parts.path else path
            assert file.is_relative_to(site.resolve()) or file == path
            assert file.is_file(), f"{path}: {target}"
            if parts.fragment and file.suffix == ".html":
                there = found[site / file.relative_to(site.resolve())] if parts.path else page
                assert parts.fragment in there.ids, f"{path}: {target}"


def test_nothing_is_loaded_and_nothing_acts(site: Path) -> None:
    for path, page in pages(site).items():
        names = [tag for tag, _ in page.tags]
        assert not {"img", "iframe", "object", "embed", "base"} & set(names), path
        scripts = [attributes for tag, attributes in page.tags if tag == "script"]
        assert all(not attributes for attributes in scripts)
        assert len(scripts) == (path.parent.name == "protocols"), path
        for _, attributes in page.tags:
            assert not any(name.startswith("on") for name in attributes), path
            assert "style" not in attributes, path
        [policy] = [a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        sheets = [attributes["href"] for tag, attributes in page.tags if tag == "link"]
        assert [Path(sheet).name for sheet in sheets] == ["style.css"]
        assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)", "", path.read_text())


def test_all_is_on_it(site: Path, folder: Path) -> None:
    front = (site / "index.html").read_text()
    assert "broken.errands.json.gz is not packed by gzip" in front
    assert "the number of errors: 3 was claimed, 0 came" in front
    assert "not checked: data absent" in front
    [table] = (site / "protocols").glob("little-*.html")
    text = table.read_text()
    for agent in ("random", "rule", "careful", "choice-oracle"):
        path = next(folder.glob(f"{agent}.errands.json.gz"))
        _, digest = read_submission(path)
        short = digest[:12]
        assert f'id="s-{short}"' in text
        entry = site / "submissions" / short
        copied = entry / f"{short}.errands.json.gz"
        assert copied.read_bytes() == path.read_bytes()
        page = (entry / "index.html").read_text()
        assert digest in page
        assert f"--agent {agent}" in page
        assert len(list((entry / "episodes").glob("*.html"))) == 12
    assert "@misc{errands-" in text
    assert "Holm" in text
    assert (site / "leaderboard.json").is_file()


def test_episodes_show_the_pages_of_the_replay(site: Path, folder: Path) -> None:
    run, digest = read_submission(folder / "rule.errands.json.gz")
    page = (site / "submissions" / digest[:12] / "episodes" / "3.html").read_text()
    tags = Tags(site / "submissions" / digest[:12] / "episodes" / "3.html")
    steps = [a for tag, a in tags.tags if tag == "input" and a.get("type") == "radio"]
    assert len(steps) == run.episodes[3].steps + 1
    assert "Buy Now" in page
    assert "Instruction:" in page
    assert "decided in" not in page


def test_it_is_the_same_again_and_only_what_is_new_is_written(
    site: Path, folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    other = write_site(leaderboard(folder, places), tmp_path / "other").parent
    files = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    for file in files:
        assert (site / file).read_bytes() == (other / file).read_bytes(), file
    episode = next(site.glob("submissions/*/episodes/3.html"))
    before = episode.stat().st_mtime_ns
    write_site(leaderboard(folder, places), site)
    assert episode.stat().st_mtime_ns == before


def test_what_is_gone_is_taken_away(site: Path, folder: Path, places: dict[str, str]) -> None:
    _, digest = read_submission(folder / "rule.errands.json.gz")
    (folder / "rule.errands.json.gz").unlink()
    write_site(leaderboard(folder, places), site)
    assert not (site / "submissions" / digest[:12]).exists()
    assert len(list((site / "submissions").iterdir())) == 3


def test_of_many_episodes_some_have_a_page(
    send: Callable[..., Path], folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    send("rule")
    front = write_site(leaderboard(folder, places), tmp_path / "site", pages=5)
    assert len(list(front.parent.glob("submissions/*/episodes/*.html"))) == 5
    [entry] = front.parent.glob("submissions/*/index.html")
    assert "5 of 12 episodes" in entry.read_text()


def test_a_folder_of_something_else_is_left_alone(
    send: Callable[..., Path], folder: Path, places: dict[str, str], tmp_path: Path
) -> None:
    send("rule")
    checked = leaderboard(folder, places)
    for place in (folder, folder / "rule.errands.json.gz"):
        with pytest.raises(SubmissionError, match="name another"):
            write_site(checked, place)
    assert [path.name for path in folder.iterdir()] == ["rule.errands.json.gz"]
