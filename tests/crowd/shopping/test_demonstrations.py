"""What people did, as a run: done again, compared, and never dropped in silence."""

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from crowd_shopping import Street

from errands.crowd.database import open_database
from errands.crowd.shopping.assignments import ShoppingAssignment, ShoppingSettings
from errands.crowd.shopping.demonstrations import SessionFilter, export_run
from errands.crowd.shopping.human_run import DemonstrationExport
from errands.crowd.shopping.steps import LoggedStep
from errands.crowd.store.database import Database, open_read_only
from errands.errors import ErrandsError, SettingError
from errands.reports.content import gather
from errands.runs.episode import Episode
from errands.runs.export import export
from errands.runs.protocol import find_protocol
from errands.runs.replay import reopen_source, replay
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import write_goals
from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH
from errands.shop.urls import Address, build


@pytest.fixture
def street(database: Database, little: Catalog) -> Street:
    street = Street(database, little)
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=2, bar=0.1))
    return street


def exported(street: Street, out: Path, **wanted: Any) -> DemonstrationExport:
    return export_run(
        street.database, out, SessionFilter(**wanted), catalog=str(street.catalog.path)
    )


def episodes_of(place: str | Path) -> list[Episode]:
    with contextlib.closing(open_run(place)) as store:
        return list(store.episodes())


def test_a_run_of_people(street: Street, place: str, tmp_path: Path) -> None:
    ann, bob = street.worker("Ann"), street.worker("Bob")
    for _ in range(3):
        street.errand(ann)
        street.errand(bob, options=False)
    street.begin(ann)
    with open_read_only(place) as reading:
        made = export_run(
            reading, tmp_path / "run", SessionFilter(), catalog=str(street.catalog.path)
        )
    assert (made.kept, made.workers, made.unfit) == (2, 2, ())
    first, second = episodes_of(made.place)
    out = street.outings.of(ann.id)[2]
    assert first.summary.key == f"goal {out.goal}"
    assert (first.summary.status, first.summary.reward) == ("done", 1.0)
    assert [step.action for step in first.steps] == [action for action, _ in street.walk(out)]
    assert first.summary.parts["worker"] == f"w{ann.id}"
    assert second.summary.parts["worker"] == f"w{bob.id}"
    assert first.summary.searches == 1
    logged = street.log.steps(out.session)
    assert [step.seconds for step in first.steps] == [
        after.at - before.at for before, after in itertools.pairwise(logged)
    ]
    assert first.summary.seconds == logged[-1].at - logged[0].at
    assert all(step.observation and "[button]" in step.observation for step in first.steps)
    with contextlib.closing(open_run(made.place)) as store:
        assert store.info.agent == "human"
        assert "Ann" not in str(store.info), "pseudonyms only"
        with contextlib.closing(reopen_source(store.info)) as source:
            assert [replay(source, one).differences for one in store.episodes()] == [(), ()]
        assert export(store, tmp_path / "run.jsonl", "jsonl") == 2


def test_an_agent_on_the_same_goals_is_compared(street: Street, tmp_path: Path) -> None:
    ann = street.worker("Ann")
    for _ in range(12):
        street.errand(ann)
    made = exported(street, tmp_path / "people")
    rule = run(find_protocol(made.protocol_file), "rule", out=tmp_path / "rule")
    assert rule.info.protocol_key == made.protocol
    with contextlib.ExitStack() as stack:
        places = (made.place, rule.place)
        stores = [stack.enter_context(contextlib.closing(open_run(one))) for one in places]
        report = gather(stores)
    assert [one.label for one in report.runs] == ["human", "rule"]
    assert report.runs[0].figures.score.mean == 100.0
    [compared] = report.comparisons
    assert (compared.refused, compared.pairs) == ("", 10)
    assert "Collected from 1 person" in report.runs[0].remarks[0]
    assert report.runs[0].command.startswith("errands crowd export demonstrations")


def test_who_is_asked_for(street: Street, tmp_path: Path) -> None:
    ann, bob, cy = (street.worker(name) for name in ("Ann", "Bob", "Cy"))
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=1, bar=0.1))
    for _ in range(3):
        street.errand(ann)
        street.errand(bob, options=False)
    street.errand(cy)
    stranger = street.log.next_number()
    street.start(7, None)
    out = ShoppingAssignment(
        0, stranger, f"s{stranger}", 0, 7, False, "open", 0.0, None, *[0] * 7, None
    )  # type: ignore[arg-type]
    street.shop(out)

    def goals(**wanted: Any) -> list[str]:
        place = tmp_path / "-".join(map(str, wanted.items()))
        exported(street, place, **wanted)
        return [str(one.summary.parts["worker"]) for one in episodes_of(place)]

    w1, w2, w3 = (f"w{one.id}" for one in (ann, bob, cy))
    assert goals() == [w1, w2, w1, w2]
    assert goals(include_trials=True) == [w1, w2, w1, w2, w1, w2, w3]
    assert goals(experts=True) == [w1, w1], "of three the better two; Cy has only a trial"
    assert goals(worker=bob.id) == [w2, w2]
    assert goals(visitors=True) == [w1, w2, w1, w2, "visitor"]
    assert goals(min_reward=1.0) == [w1, w1]
    street.outings.decide(ann.id, "refused")
    assert goals(qualified=True) == [w2, w2]
    for wrong in ({"worker": 999}, {"min_reward": 2.0}, {"visitors": True, "experts": True}):
        with pytest.raises(SettingError):
            goals(**wrong)
    with pytest.raises(ErrandsError, match="no finished session"):
        goals(worker=cy.id)


def going(
    street: Street, out: ShoppingAssignment, walk: list[tuple[str, int, bool, Address]]
) -> None:
    """Steps by hand: action, source, exact, where it led."""
    for number, (action, source, exact, address) in enumerate(walk, 1):
        step = LoggedStep(
            number, street.clock(), action, source, exact, address.page, build(address)
        )
        if address.page == DONE:
            street.log.finish(out.session, step, street.bought(out, address))
        else:
            street.log.append(out.session, step)


def test_detours_are_left_out_and_ways_that_break_are_named(street: Street, tmp_path: Path) -> None:
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0))
    ann = street.worker("Ann")
    detour = street.begin(ann)
    (search, results), (click, item), *_ = street.walk(detour, options=False)
    other = next(product.asin for product in street.catalog if product.asin != item.asin)
    bought = Address(DONE, detour.name, asin=item.asin)
    going(
        street,
        detour,
        [
            (search, 0, True, results),
            (f"go[{other}]", 1, False, results._replace(page=ITEM, asin=other)),
            (click, 1, True, item),
            ("click[buy now]", 3, True, bought),
        ],
    )
    typed = street.begin(ann)
    (search, results), (_, item), *_ = street.walk(typed, options=False)
    going(
        street,
        typed,
        [
            (search, 0, True, results),
            ("go[somewhere]", 1, False, item),
            ("click[buy now]", 2, True, Address(DONE, typed.name, asin=item.asin)),
        ],
    )
    dear = street.errand(ann, 0.123)
    strange = street.errand(ann)
    street.database.run(
        "UPDATE goals SET record = ? WHERE number = ?", (json.dumps({}), strange.goal)
    )
    lost = street.begin(ann)
    going(
        street,
        lost,
        [
            ("search[nothing like that]", 0, True, Address(RESULTS, lost.name, "nothing")),
            ("click[back to search]", 1, True, Address(SEARCH, lost.name)),
            ("click[buy now]", 2, True, Address(DONE, lost.name, asin=other)),
        ],
    )
    made = exported(street, tmp_path / "run")
    assert made.kept == 1
    [episode] = episodes_of(made.place)
    assert [step.action for step in episode.steps] == [
        action for action, _ in street.walk(detour, options=False)
    ]
    reasons = {one.session: one.reason for one in made.unfit}
    assert "is no action of the environment" in reasons[typed.name]
    assert "0.123 was logged" in reasons[dear.name]
    assert "is another" in reasons[strange.name]
    assert "nothing has been bought" in reasons[lost.name]
    assert len(reasons) == 4
    with contextlib.closing(open_run(made.place)) as store:
        assert "4 more finished sessions are left out" in store.info.remarks[-1]


def test_only_broken_ones_make_no_run(street: Street, tmp_path: Path) -> None:
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0))
    street.errand(street.worker("Ann"), 0.5)
    with pytest.raises(SettingError, match="None of the 1 finished"):
        exported(street, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_attributes_page_is_shown_where_people_saw_it(street: Street, tmp_path: Path) -> None:
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0))
    out = street.begin(street.worker("Ann"))
    (search, results), (click, item), *_ = street.walk(out, options=False)
    going(
        street,
        out,
        [
            (search, 0, True, results),
            (click, 1, True, item),
            ("click[attributes]", 2, True, item._replace(page="attributes")),
            ("click[< prev]", 3, True, item),
            ("click[buy now]", 4, True, Address(DONE, out.name, asin=item.asin)),
        ],
    )
    made = exported(street, tmp_path / "run")
    assert made.unfit == ()
    [episode] = episodes_of(made.place)
    assert len(episode.steps) == 5
    assert find_protocol(made.protocol_file).settings == {"show_attrs": True}


def test_goals_from_a_file_that_moved(little: Catalog, tmp_path: Path) -> None:
    write_goals(tmp_path / "first.json", little.goals("synthetic"), little)
    with open_database(str(tmp_path / "site.sqlite")) as database:
        street = Street(database, little, goals=str(tmp_path / "first.json"))
        street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0))
        street.errand(street.worker("Ann"))
        (tmp_path / "first.json").rename(tmp_path / "second.json")
        with pytest.raises(ErrandsError, match="no goal set"):
            exported(street, tmp_path / "a")
        made = export_run(
            database,
            tmp_path / "b",
            SessionFilter(),
            catalog=str(little.path),
            goals=str(tmp_path / "second.json"),
        )
    assert (made.kept, made.unfit) == (1, ())


def test_another_shop(street: Street, tmp_path: Path) -> None:
    street.errand(street.worker("Ann"))
    with pytest.raises(SettingError, match="--data"):
        export_run(street.database, tmp_path / "a", SessionFilter(), catalog="demo")
    with pytest.raises(SettingError, match="--goals"):
        export_run(
            street.database,
            tmp_path / "b",
            SessionFilter(),
            catalog=str(street.catalog.path),
            goals="human",
        )
    place = tmp_path / "c"
    exported(street, place, include_trials=True)
    with pytest.raises(ErrandsError):
        exported(street, place, include_trials=True)
    assert len(episodes_of(place)) == 1, "a run is never overwritten"
