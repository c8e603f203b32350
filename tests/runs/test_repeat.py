"""Each episode several times: round by round, by number, whoever plays; and their clusters."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from little_runs import little_protocol

from errands.agents.agent import EndOfRun
from errands.agents.careful import CarefulShopper
from errands.errors import ErrandsError, SettingError
from errands.reports.content import command_of
from errands.runs.episode import Summary
from errands.runs.episode_source import ShopSource, TurkSource, open_source
from errands.runs.protocol import Protocol, read_protocols
from errands.runs.replay import reopen_source, replay
from errands.runs.runner import protocol_key, run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog


def _summaries(place: object) -> list[Summary]:
    with closing(open_run(str(place))) as store:
        return list(store.summaries())


def _actions(place: object) -> list[tuple[str, ...]]:
    with closing(open_run(str(place))) as store:
        return [tuple(step.action for step in one.steps) for one in store.episodes()]


def _turk(**settings: Any) -> Protocol:
    return Protocol(
        id="t", version=1, title="t", domain="turk", data="demo", observation="html",
        rules="paper", tasks=("Fridge Notes", "Receipt Reading"), per_task=2, **settings,
    )  # fmt: skip


def test_the_list_is_played_round_by_round(little: Catalog) -> None:
    once = ShopSource(little_protocol(little, 7))
    thrice = ShopSource(little_protocol(little, 7, repeat=3))
    assert list(thrice.keys) == [*once.keys] * 3
    assert [thrice.options(number) for number in range(21)] == [
        once.options(number % 7) for number in range(21)
    ]
    assert list(thrice.clusters) == [thrice.goals[index].asin for index in thrice.indices] * 3
    assert thrice.clusters[-1] == thrice.clusters[20]
    assert thrice.clusters[5:9] == [thrice.clusters[number] for number in range(5, 9)]
    with pytest.raises(IndexError):
        thrice.clusters[21]


def test_form_pages_repeat_and_are_clustered_by_task() -> None:
    with closing(TurkSource(_turk(repeat=2))) as source:
        assert [*source.keys[:4]] == [*source.keys[4:]]
        assert source.options(5) == source.options(1)
        assert source.clusters[:2] == ["Fridge Notes", "Receipt Reading"]
        assert len(source.clusters) == len(source.keys) == 8


def test_every_way_to_play_gives_the_same(little: Catalog, tmp_path: Path) -> None:
    base = little_protocol(little, 6)
    plain = run(base, "random", out=tmp_path / "plain", repeat=3)
    run(base, "random", out=tmp_path / "several", repeat=3, workers=2)
    assert plain.info.episodes == plain.kept == 18
    assert plain.info.protocol_key.endswith(" repeat=3")
    assert plain.info.protocol["repeat"] == 3
    assert _actions(tmp_path / "plain") == _actions(tmp_path / "several")
    first, second = _actions(tmp_path / "plain")[:6], _actions(tmp_path / "plain")[6:12]
    assert first != second  # Each round has seeds of its own.
    once = run(base, "random", out=tmp_path / "once")
    assert _actions(once.place) == first
    assert "--repeat 3" in command_of(plain.info)
    assert "--repeat 1" in command_of(once.info)  # Whatever the protocol's file says.


class _Fails(CarefulShopper):
    stop_at = -1

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        _Fails.stop_at -= 1
        if _Fails.stop_at == 0:
            raise EndOfRun("enough")
        if _Fails.stop_at % 2:
            raise ValueError("no")
        super().begin(observation, info)


def test_resuming_goes_on_by_number_and_errors_have_a_cluster(
    little: Catalog, tmp_path: Path
) -> None:
    base = little_protocol(little, 4)
    _Fails.stop_at = 7
    ended = run(base, _Fails, out=tmp_path / "run", repeat=2)
    assert (ended.kept, ended.ended) == (6, "enough")
    with pytest.raises(ErrandsError, match="holds another run"):
        run(base, _Fails, out=tmp_path / "run", repeat=3, resume=True)
    _Fails.stop_at = -1
    assert run(base, _Fails, out=tmp_path / "run", repeat=2, resume=True).kept == 8
    summaries = _summaries(tmp_path / "run")
    assert {one.status for one in summaries} >= {"error", "done"}
    with closing(ShopSource(base)) as source:
        assert [one.parts["cluster"] for one in summaries] == [
            source.goals[source.indices[one.number % 4]].asin for one in summaries
        ]
    with (
        closing(open_run(str(tmp_path / "run"))) as store,
        closing(reopen_source(store.info)) as source,
    ):
        assert all(replay(source, store.episode(number)).same for number in (1, 5))


def test_form_pages_say_their_task_errors_too(tmp_path: Path) -> None:
    run(_turk(), "do-nothing", out=tmp_path / "run", repeat=2)
    summaries = _summaries(tmp_path / "run")
    assert [one.parts["cluster"] for one in summaries] == [
        one.key.rsplit("/", 1)[0] for one in summaries
    ]

    class Breaks:
        def begin(self, observation: Any, info: Any) -> None:
            raise ValueError("no")

        def act(self, observation: Any, info: Any) -> str:
            return ""

    run(_turk(), Breaks, out=tmp_path / "broken", episodes=2)
    assert [one.parts for one in _summaries(tmp_path / "broken")] == [
        {"cluster": "Fridge Notes"},
        {"cluster": "Receipt Reading"},
    ]


def test_a_protocol_of_a_file_may_repeat_and_others_keep_their_keys(
    little: Catalog, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    text = f'[mine]\nversion = 1\ndomain = "shop"\ndata = "{little.path}"\nepisodes = 3\n'
    file.write_text(text + "repeat = 2\n")
    twice = read_protocols(file)["mine"]
    once = msgspec.structs.replace(twice, repeat=1)
    keys = []
    for protocol in (once, twice):
        with closing(open_source(protocol)) as source:
            keys.append(protocol_key(protocol, protocol, source))
    assert keys[0] != keys[1]
    assert keys[0].endswith(" own:40b3bd36")  # As before there were repeats.
    for wrong in ("0", "-1", "10001", '"often"'):
        file.write_text(text + f"repeat = {wrong}\n")
        with pytest.raises(ErrandsError, match="repeat"):
            read_protocols(file)


def test_wrong_repeats_are_one_sentence(little: Catalog, tmp_path: Path) -> None:
    for wrong in (0, -3, 1.5, "two", 10_001):
        with pytest.raises(SettingError, match="repeat="):
            run(little_protocol(little, 2), "rule", out=tmp_path / "x", repeat=wrong)  # type: ignore[arg-type]
