"""Our observation formats pass the kit, and formats with one defect each do not."""

import random
from typing import Any

import gymnasium
import pytest
from kits import failures

from errands.envs.observations import Observation
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import Page
from errands.testing import FormObservationConformance, ObservationConformance
from errands.turk.actions.action import Action
from errands.turk.pages.driver import OpenPage


class ShopFormatKit(ObservationConformance):
    name = ""

    @pytest.fixture(autouse=True)
    def _catalog(self, little: Catalog) -> None:
        self.catalog = little

    def environment(self, observation: Observation) -> gymnasium.Env[Any, Any]:
        return ShopEnv(self.catalog, observation=observation, max_steps=self.longest)

    def observation(self) -> Observation:
        return self.name


class TestText(ShopFormatKit):
    name = "text"


class TestTextRich(ShopFormatKit):
    name = "text_rich"


class TestHtml(ShopFormatKit):
    name = "html"


class TestUrl(ShopFormatKit):
    name = "url"


class FormFormatKit(FormObservationConformance):
    name = ""

    def observation(self) -> Observation:
        return self.name


class TestFormHtml(FormFormatKit):
    name = "html"


class TestFormText(FormFormatKit):
    name = "text"


class TestFormRelevant(FormFormatKit):
    name = "relevant"


class Toy:
    """What can be clicked."""

    name = "toy"
    version = "1"

    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        return "\n".join([instruction, *page.clicks, str(score)])


class Spaced(Toy):
    name = "my toy"


class Numbers(Toy):
    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        return len(page.clicks)


class HalfCharacter(Toy):
    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        return super().__call__(page, instruction, score) + "\ud800"


class Blind(Toy):
    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        return instruction


class Moody(Toy):
    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        return super().__call__(page, instruction, score) + str(random.random())


class Remembers(Toy):
    """Shows the page before, whoever saw that."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, page: Page, instruction: str, score: float | None) -> Any:
        shown = super().__call__(page, instruction, score)
        before, self.last = self.last, "" if score is not None else shown
        return f"{before}\n{shown}"


class ToyKit(ShopFormatKit):
    def __init__(self, kind: type[Toy], catalog: Catalog) -> None:
        self.kind = kind
        self.catalog = catalog

    def observation(self) -> Observation:
        return self.kind()


def test_a_sound_toy_passes(little: Catalog) -> None:
    assert failures(ToyKit(Toy, little)) == set()


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        (Spaced, "its_name_and_version_are_words"),
        (Numbers, "every_page_is_a_text"),
        (HalfCharacter, "every_page_is_a_text"),
        (Blind, "pages_are_told_apart"),
        (Moody, "a_page_looks_the_same_again"),
        (Remembers, "environments_do_not_share_pages"),
    ],
)
def test_a_broken_toy_fails(kind: type[Toy], failure: str, little: Catalog) -> None:
    assert failure in failures(ToyKit(kind, little))


class Sound(FormObservationConformance):
    def observation(self) -> Observation:
        return lambda page: "\n".join(f"{name}: {page.values(name)}" for name in _names(page))


class Meddles(FormObservationConformance):
    """Fills in what it shows."""

    def observation(self) -> Observation:
        def meddle(page: OpenPage) -> str:
            for field in page.fields():
                if field.type == "text":
                    page.perform(Action("modify_text", {"name": field.name, "value": "mine"}))
            return page.html()

        return meddle


class Blindfold(FormObservationConformance):
    def observation(self) -> Observation:
        return lambda page: "a form"


def _names(page: OpenPage) -> list[str]:
    return [field.name for field in page.fields()]


def test_formats_of_form_pages() -> None:
    assert failures(Sound()) == set()
    assert "showing_changes_nothing" in failures(Meddles())
    assert "pages_are_told_apart" in failures(Blindfold())
