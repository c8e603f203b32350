import re

import msgspec
from packed_pages import unpack
from played import MemoryStore, made, play_shop, watch_shop

from errands.reports.html.frames import StyleSheets
from errands.reports.html.replay import MOST_STEPS, PageView, instruction_of, replay, views
from errands.runs.episode import Episode, Step


def block_of(markup: str) -> list[str]:
    found = re.search(r'class="packed">([^<]*)<', markup)
    return unpack(found[1]) if found else []


def test_kept_pages_are_shown_as_they_are(careful: MemoryStore) -> None:
    episode = careful.episode(0)
    shown = views(careful.info, episode, None)
    assert [view.text for view in shown] == [s.observation for s in episode.steps] + [episode.last]
    markup, used = replay(episode, shown, name="e", sheets=StyleSheets())
    for step in episode.steps:
        assert f"<code>{step.action}</code>" in markup
    assert markup.count('type="radio"') == len(episode.steps) + 1
    assert used > 0
    assert instruction_of(shown[0]) in markup
    assert "price lower than" in instruction_of(shown[0])


def test_a_run_of_fingerprints_is_played_again() -> None:
    store = play_shop("careful", 2, keep=False)
    episode = store.episode(1)
    assert all(view.text == "" for view in views(store.info, episode, None))
    shown = views(store.info, episode, watch_shop)
    assert all(view.same for view in shown)
    markup, _ = replay(episode, shown, name="e", sheets=StyleSheets())
    pages = block_of(markup)
    assert len(pages) == len({view.html for view in shown})
    assert "Nothing of this page was kept" not in markup
    other = [view._replace(same=False) for view in shown]
    assert (
        "not the one that was recorded" in replay(episode, other, name="e", sheets=StyleSheets())[0]
    )


def test_a_page_that_comes_back_is_written_once() -> None:
    steps = tuple(Step(f"click[{n}]", observation="same [SEP] page") for n in range(9))
    episode = Episode(summary=made(0, 0.0).summary, steps=steps, last="same [SEP] page")
    markup, _ = replay(episode, views(play_info(), episode, None), name="e", sheets=StyleSheets())
    assert markup.count("<li>page") == 1
    assert markup.count('class="v0"') == 10


def play_info():
    from played import run_info

    return run_info("shop", "x", 1)


def test_pages_of_forms_are_framed_and_read(oracle: MemoryStore) -> None:
    episode = oracle.episode(0)
    markup, _ = replay(episode, views(oracle.info, episode, None), name="e", sheets=StyleSheets())
    assert block_of(markup)[0].startswith("<")
    assert "<pre>" in markup
    assert "submit()" in markup
    assert 'class="fields"' in markup


def test_what_does_not_fit_is_named_with_the_command(oracle: MemoryStore) -> None:
    episode = oracle.episode(0)
    shown = views(oracle.info, episode, None)
    whole, used = replay(episode, shown, name="e", sheets=StyleSheets())
    assert used == 0 or "left out" not in whole
    small, spent = replay(
        episode,
        shown,
        name="e",
        sheets=StyleSheets(),
        allowance=used / 3,
        command="errands report X",
    )
    assert spent <= used / 3
    assert "left out to keep the file small" in small
    assert "<code>errands report X</code>" in small
    none, nothing = replay(episode, shown, name="e", sheets=StyleSheets(), allowance=0)
    assert nothing == 0
    assert "packed" not in none


def test_of_very_long_episodes_the_middle_is_left_out() -> None:
    steps = tuple(Step(f"click[{n}]", observation=f"page {n}") for n in range(300))
    episode = Episode(summary=made(0, 0.0, steps=300).summary, steps=steps, last="end")
    markup, _ = replay(episode, views(play_info(), episode, None), name="e", sheets=StyleSheets())
    assert markup.count('type="radio"') == MOST_STEPS + 1
    assert "200 steps in the middle" in markup
    assert "click[0]" in markup
    assert "click[299]" in markup
    assert "click[150]" not in markup


def test_errors_thoughts_and_messages_are_escaped_and_cut() -> None:
    bad = "<script>alert(1)</script>"
    step = Step(bad, thought=bad + "x" * 100_000, message=bad, observation=bad * 3, seconds=1.5,
                tokens_in=7, cost=0.25)  # fmt: skip
    episode = Episode(summary=made(0, None, error=bad, owner=bad).summary, steps=(step,), last=bad)
    markup, _ = replay(episode, views(play_info(), episode, None), name="e", sheets=StyleSheets())
    assert "<script>" not in markup
    assert len(markup) < 30_000
    assert "decided in 1.5 s" in markup
    assert "$0.2500" in markup


def test_an_episode_without_steps_still_has_an_end() -> None:
    episode = msgspec.structs.replace(made(0, None), steps=())
    markup, _ = replay(episode, [PageView()], name="e", sheets=StyleSheets())
    assert markup.count('type="radio"') == 1
    assert "It gave up." in markup
    assert "Nothing of this page was kept" in markup
