"""The example of a site reader passes the kit, runs, and is found by `module:attribute`."""

from pathlib import Path

import pytest
import site_reader as example

from errands.testing import SiteConformance
from errands.transfer import SiteReader, find_site


class TestCornerShop(SiteConformance):
    may_lack = SiteConformance.may_lack | {"image"}

    def site(self) -> SiteReader:
        return find_site("site_reader:CornerShop")

    def results_page(self) -> str:
        return example.RESULTS

    def item_page(self) -> str:
        return example.ITEM


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert "Red Mug {'size': 'small'}" in capsys.readouterr().out


def test_the_command_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from errands.cli import app

    (tmp_path / "results.html").write_text(example.RESULTS)
    (tmp_path / "item.html").write_text(example.ITEM)
    monkeypatch.chdir(tmp_path)
    played = CliRunner().invoke(
        app,
        [
            "transfer",
            "--site",
            "site_reader:CornerShop",
            "--instruction",
            "red mug",
            "--pages",
            ".",
        ],
    )
    assert played.exit_code == 0, played.output
    assert "Red Mug [7]" in played.output
