"""Workers' outings: what they are sent for, when they end, what is noted."""

from pathlib import Path

import msgspec
import pytest
from crowd_shopping import Street

from errands.crowd.database import open_database
from errands.crowd.errors import Conflict
from errands.crowd.shopping.assignments import (
    ShoppingSettings,
    WrongCode,
    completion_code,
    default_settings,
    read_assignments,
)
from errands.crowd.shopping.demonstrations import read_overview
from errands.crowd.store.database import Database, StorageError, open_read_only
from errands.errors import ErrandsError, GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices


@pytest.fixture
def street(database: Database, little: Catalog) -> Street:
    return Street(database, little)


def test_an_outing_is_paid_with_its_purchase(street: Street) -> None:
    ann = street.worker("Ann")
    out = street.begin(ann)
    assert (out.state, out.pay, out.offered, out.is_trial) == ("open", 0.0, 0.7, True)
    # The promise holds, whatever is decided meanwhile.
    street.outings.set_settings(msgspec.structs.replace(street.outings.settings(), pay=5.0))
    street.shop(out, 0.5)
    [done] = street.outings.of(ann.id)
    assert (done.state, done.pay, done.reward) == ("done", 0.7, 0.5)
    assert done.steps == len(street.log.steps(done.session)) - 1
    assert (done.items, done.searches) == (1, 1)
    assert done.states == done.steps + 1
    assert done.ended is not None
    assert done.ended > done.began


def test_one_at_a_time(street: Street) -> None:
    ann = street.worker("Ann")
    street.begin(ann)
    with pytest.raises(Conflict):
        street.begin(ann)
    assert len(street.log.sessions()) == 1
    street.begin(street.worker("Bob"))


def test_goals_come_from_their_splits_and_never_twice(street: Street) -> None:
    settings = ShoppingSettings(
        is_open=True,
        budget=1000.0,
        split="disjoint-train",
        trial_split="disjoint-eval",
        trials=3,
        bar=0.0,
    )
    street.outings.set_settings(settings)
    ann, bob = street.worker("Ann"), street.worker("Bob")
    for _ in range(8):
        street.errand(ann)
        street.errand(bob)
    of_ann = street.outings.of(ann.id)
    assert [one.is_trial for one in of_ann] == [True] * 3 + [False] * 5
    work, trials = (
        set(split_indices(f"disjoint-{one}", street.goals)) for one in ("train", "eval")
    )
    assert {one.goal for one in of_ann[:3]} <= trials
    assert {one.goal for one in of_ann[3:]} <= work
    given = [one.goal for one in read_assignments(street.database) if not one.is_trial]
    assert len(set(given)) == len(given), "each goal once"


def test_the_same_draws_for_the_same_seed(little: Catalog, tmp_path: Path) -> None:
    def drawn(name: str, seed: int, cut: bool) -> list[int]:
        found = []
        place = str(tmp_path / name)
        for round in range(2):
            with open_database(place) as database:
                street = Street(database, little, seed)
                ann = street.worker("Ann") if not round else street.people.everybody("worker")[0]
                found += [street.errand(ann).goal for _ in range(2 if cut else 4)]
            if not cut:
                break
        return found

    assert drawn("a", 1, False) == drawn("b", 1, True)
    assert drawn("c", 2, False) != drawn("d", 1, False)


class Few:
    """The first goals of a set."""

    def __init__(self, goals: object, count: int) -> None:
        self._goals, self._count = goals, count
        self.name = "few"

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> object:
        return self._goals[place]  # type: ignore[index]


def test_when_goals_run_out(street: Street) -> None:
    street.outings.goals = Few(street.goals, 4)  # type: ignore[assignment]
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0))
    ann, bob = street.worker("Ann"), street.worker("Bob")
    first = {street.errand(ann).goal for _ in range(3)}
    last = street.errand(bob).goal
    assert first | {last} == {0, 1, 2, 3}
    # All are used: another round begins, but nobody gets a goal again.
    assert street.errand(ann).goal == last
    assert {street.errand(bob).goal for _ in range(3)} == first
    with pytest.raises(Conflict, match="none is left"):
        street.begin(ann)
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0, per_goal=3))
    third = street.worker("Cy")
    assert {street.errand(third).goal for _ in range(4)} == {0, 1, 2, 3}


def test_given_back_and_taken_back(street: Street) -> None:
    street.outings.goals = Few(street.goals, 2)  # type: ignore[assignment]
    street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, trials=0, hours=1.0))
    ann, bob = street.worker("Ann"), street.worker("Bob")
    first = street.begin(ann)
    street.outings.return_(ann.id)
    with pytest.raises(Conflict):
        street.outings.return_(ann.id)
    second = street.begin(ann)
    assert second.goal != first.goal, "not again to the same one"
    assert street.begin(bob).goal == first.goal, "free for others"
    street.clock.now += 3700
    third = street.worker("Cy")
    assert street.begin(third).goal in (first.goal, second.goal)
    states = [one.state for one in read_assignments(street.database)]
    assert states == ["returned", "returned", "returned", "open"]
    street.shop(second)  # too late
    assert street.outings.of(ann.id)[1].state == "returned"
    assert sum(one.pay for one in read_assignments(street.database)) == 0


def test_codes(street: Street) -> None:
    ann, bob = street.worker("Ann"), street.worker("Bob")
    out = street.begin(ann)
    code = completion_code(out.name)
    with pytest.raises(Conflict, match="nothing has been bought"):
        street.outings.submit_code(ann.id, code)
    street.shop(out)
    for wrong in ("", "0" * 10, completion_code("else"), "x" * 10_000, "\0"):
        with pytest.raises(WrongCode, match="not the code"):
            street.outings.submit_code(ann.id, wrong)
    with pytest.raises(WrongCode, match="not the code"):
        street.outings.submit_code(bob.id, code)
    assert street.outings.submit_code(ann.id, f" {code.lower()}\n").number == out.number
    with pytest.raises(Conflict, match="counts once"):
        street.outings.submit_code(ann.id, code)


def test_who_failed_the_trial_is_not_sent_out_again(street: Street) -> None:
    ann = street.worker("Ann")
    for reward in (1.0, 1.0, 1.0, 0.5, 0.25):
        street.errand(ann, reward)
    with pytest.raises(Conflict, match="trial"):
        street.begin(ann)
    street.outings.decide(ann.id, "granted")
    street.errand(ann)
    street.outings.decide(ann.id, "refused")
    with pytest.raises(Conflict):
        street.begin(ann)
    held = street.database.rows("SELECT verdict FROM verdicts ORDER BY number")
    assert held == [("granted",), ("refused",)], "every decision stays on record"


def test_settings_that_cannot_be(street: Street) -> None:
    with pytest.raises(ErrandsError, match="no split"):
        street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, split="some"))
    street.outings.goals = Few(street.goals, 100)  # type: ignore[assignment]
    with pytest.raises(GoalError, match="empty"):
        street.outings.set_settings(ShoppingSettings(is_open=True, budget=1000.0, split="train"))
    street.outings.set_settings(ShoppingSettings(budget=1000.0))
    with pytest.raises(Conflict, match="moment"):
        street.begin(street.worker("Ann"))
    assert default_settings(100).split == "all"
    assert (default_settings(9000).split, default_settings(9000).trial_split) == ("train", "eval")


def test_a_purchase_while_nobody_watched_is_taken_in(street: Street) -> None:
    ann = street.worker("Ann")
    out = street.begin(ann)
    street.log.watcher = None
    street.shop(out, 0.25)
    assert street.outings.of(ann.id)[0].state == "open"
    street.outings.finish_missed()
    [done] = street.outings.of(ann.id)
    assert (done.state, done.reward, done.pay) == ("done", 0.25, 0.7)
    assert done.steps > 2
    street.outings.finish_missed()
    assert street.outings.of(ann.id) == [done]


def test_an_outing_and_its_session_begin_together(street: Street) -> None:
    ann = street.worker("Ann")

    def broken(goal: int, also: object) -> None:
        def fail(run: object, session: int) -> None:
            also(run, session)  # type: ignore[operator]
            raise RuntimeError("the power is gone")

        street.start(goal, fail)

    with pytest.raises(RuntimeError):
        street.outings.begin(ann.id, broken)
    assert street.log.sessions() == []
    assert street.outings.of(ann.id) == []
    assert street.log.unfinished() == 0


def test_reading_while_a_server_writes(street: Street, place: str) -> None:
    ann = street.worker("Ann")
    street.errand(ann)
    with open_read_only(place) as reading:
        assert read_overview(reading, include_trials=True).all.count == 1
        street.errand(ann, 0.0)
        # One moment, however long it is looked at.
        assert read_overview(reading, include_trials=True).all.count == 1
        with pytest.raises(StorageError):
            reading.rows("INSERT INTO about VALUES ('x', 'y') RETURNING name")
    with open_read_only(place) as reading:
        told = read_overview(reading, include_trials=True)
    assert (told.all.count, told.all.score, told.all.success) == (2, 50.0, 50.0)
    assert (told.finished, told.paid) == (2, pytest.approx(1.4))
    assert read_overview(street.database).all.count == 0
    assert "secret" not in reading.place


def test_reading_when_the_server_is_gone(place: str, little: Catalog) -> None:
    with open_database(place) as database:
        Street(database, little).worker("Ann")
    with open_read_only(place) as reading:
        assert [one.name for one in read_overview(reading).workers] == ["Ann"]
    with open_read_only(place) as reading:
        assert read_overview(reading).finished == 0


def test_a_file_that_begins_to_change_is_not_trusted(tmp_path: Path, little: Catalog) -> None:
    place = str(tmp_path / "site.sqlite")
    with open_database(place) as database:
        Street(database, little).worker("Ann")
    with open_read_only(place) as reading:
        assert len(read_overview(reading).workers) == 1
        with open_database(place) as database:
            Street(database, little).worker("Bob")
        with pytest.raises(StorageError, match="once more"):
            read_overview(reading)


def test_what_is_no_store_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no website"):
        open_read_only(str(tmp_path / "none.sqlite"))
    (tmp_path / "text").write_text("no database at all, only text")
    with pytest.raises(StorageError):
        open_read_only(str(tmp_path / "text"))
    with pytest.raises(StorageError, match="cannot be kept"):
        open_read_only("mysql://here/there")
    with pytest.raises(StorageError):
        open_read_only("postgresql://nobody@127.0.0.1:1/none")
