"""Settings: one sentence for each mistake, and nothing secret kept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from errands.agents.llm import prompts
from errands.agents.llm.factory import make
from errands.agents.llm.settings import ClientSettings, ShopSettings, TurkSettings, described
from errands.agents.llm.transport.budget import known_prices, price_of
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError

KEY = "sk-very-secret-4711-abcdef"
DOCS = Path(__file__).resolve().parents[3] / "docs" / "guides" / "language-models.md"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a model"),
        ({"model": ""}, "model='': expected a model's name"),
        ({"model": "m", "sytle": "act"}, "did you mean 'style'?"),
        ({"model": "m", "xyzzy": 1}, "the settings are model, base_url"),
        ({"model": "m", "demos": 3}, "no setting 'demos'"),
        (
            {"model": "m", "style": "dance"},
            "style='dance': expected 'act', 'react', 'act-2022' or 'react-2022'.",
        ),
        ({"model": "m", "shots": 2}, "shots=2: expected 0 or 1."),
        ({"model": "m", "top": -1}, "top=-1: expected a whole number, 0 or more."),
        ({"model": "m", "tries": 0}, "tries=0: expected a whole number, 1 or more."),
        ({"model": "m", "temperature": "hot"}, "temperature='hot': expected 0 to 2, or null"),
        ({"model": "m", "timeout": 0}, "timeout=0: expected a number of seconds above 0."),
        ({"model": "m", "stream": "yes"}, "stream='yes': expected true or false."),
        ({"model": "m", "price_in": 1}, "give both price_in and price_out"),
        ({"model": "m", "prompt": "/no/such.md"}, "cannot be read (No such file or directory)"),
    ],
)
def test_mistakes_are_one_sentence(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as failure:
        make("shop", ShopEnv(), {"base_url": "http://x/v1", **settings})
    assert message in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_command_line_gives_texts() -> None:
    texts = {"tries": "2", "temperature": "null", "stream": "true", "extra": '{"a": 1}',
             "price_in": "1", "price_out": "0.5", "max_cost": "0.02", "window": "0"}  # fmt: skip
    made = make("shop", ShopEnv(), {"model": "7", "base_url": "http://x/v1", **texts})
    kept = made.settings
    assert (kept["model"], kept["temperature"], kept["stream"]) == ("7", None, True)
    assert (kept["extra"], kept["price_out"], kept["window"]) == ({"a": 1}, 0.5, 0)
    with pytest.raises(SettingError, match="tries='0': expected a whole number, 1 or more"):
        make("shop", ShopEnv(), {"model": "m", "tries": "0"})


def test_halves_and_environments_belong_together() -> None:
    with pytest.raises(SettingError, match="not 'turk' in ShopEnv"):
        make("turk", ShopEnv(), {"model": "m"})
    with pytest.raises(SettingError, match="no setting 'window'"):
        make("turk", TurkEnv(driver="dom"), {"model": "m", "window": 5})


def test_settings_that_are_kept_can_repeat_the_run_and_hold_no_key() -> None:
    made = make(
        "shop", ShopEnv(), {"model": "gpt-4o-mini", "base_url": "http://x/v1/", "max_cost": 2}
    )
    kept = json.loads(json.dumps(made.settings))
    assert made.name == "llm"
    assert made.mode == "model"
    made.close()
    assert KEY not in json.dumps(kept)
    assert kept["base_url"] == "http://x/v1"
    assert (kept["price_in"], kept["price_out"]) == (0.15, 0.6)
    assert len(kept["prompt_sha256"]) == 64
    assert "max_cost" not in kept, "a resumed run may have another"


def test_prices_have_a_date_and_can_be_overridden() -> None:
    date, prices = known_prices()
    assert re.fullmatch(r"20\d\d-\d\d", date)
    assert all(price.tokens_out >= price.tokens_in > 0 for price in prices.values())
    price = price_of("gpt-4o", None, 7.0)
    assert price is not None
    assert (price.tokens_in, price.tokens_out) == (2.5, 7.0)
    assert price_of("unheard-of", None, None) is None


def test_every_setting_is_in_the_docs() -> None:
    text = DOCS.read_text("utf-8")
    for record in (ClientSettings, ShopSettings, TurkSettings):
        for name in described(record):
            assert f"`{name}`" in text, f"docs/guides/language-models.md does not explain {name}"
    for name in prompts.names():
        assert f"`{name}`" in text


@pytest.mark.parametrize("name", prompts.names())
def test_shipped_prompts_can_be_copied_and_changed(name: str, tmp_path: Path) -> None:
    kind = "shop" if name.startswith("shop") else name.removesuffix("-tools")
    kind = "shop-published" if name.endswith("-2022") else kind
    part = "example" if name.endswith("-2022") else "system"
    own = tmp_path / "mine.md"
    own.write_text(prompts.source(name).replace(f"## {part}\n", f"## {part}\nBe quick. "), "utf-8")
    shipped, mine = prompts.load(name, kind), prompts.load(name, kind, str(own))
    assert mine.parts[part] == f"Be quick. {shipped.parts[part]}"
    assert mine.sha256 != shipped.sha256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("{{instruction}}", "{{wish}}"), r"has \{\{wish\}\} in its part 'start'"),
        (("{{instruction}}", "shop!"), r"lacks \{\{instruction\}\}"),
        (("## repair", "## fix"), "has no part `## repair`"),
        (("## repair", "## more\nx\n\n## repair"), "has a part `## more`"),
    ],
)
def test_a_prompt_that_cannot_work_is_explained(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    own = tmp_path / "mine.md"
    text = prompts.source("shop-act")
    head, _, body = text.partition("## system")
    own.write_text(f"{head}## system{body.replace(*change)}", "utf-8")
    with pytest.raises(SettingError, match=message):
        prompts.load("shop-act", "shop", str(own))


def test_values_are_put_in_once_and_empty_lines_go() -> None:
    prompt = prompts.load("turk-field", "turk-field")
    text = prompt.fill("page", name="{{html}}", type="text", html="<p>\n\n\n{{name}}</p>")
    assert text == "Field: {{html}}\nType: text\n\nHTML:\n<p>\n\n\n{{name}}</p>"


def test_an_unknown_prompt_has_a_nearest_name() -> None:
    with pytest.raises(SettingError, match="did you mean 'shop-react'"):
        prompts.source("shop-reakt")
