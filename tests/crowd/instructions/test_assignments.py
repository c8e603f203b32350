"""Products are taken up, instructions handed in, reviewed and written to a file."""

import json
from collections import Counter
from pathlib import Path

import pytest

from errands.crowd.accounts.accounts import Accounts, Person, Qualification, save_qualification
from errands.crowd.database import open_database
from errands.crowd.errors import Conflict, NotAllowed, NotFound
from errands.crowd.instructions import assignments as product_draw
from errands.crowd.instructions.assignments import (
    PAGE,
    WritingAssignment,
    WritingAssignments,
    WritingSettings,
    checked_settings,
    listed,
    read_settings,
    waiting,
    write_settings,
    writers,
)
from errands.crowd.instructions.assignments import _draw_product as draw_product
from errands.crowd.instructions.checks import InstructionDraft, shown
from errands.crowd.instructions.human_file import human_records, summary, write_human_file
from errands.crowd.store.database import Database, StorageError, open_read_only
from errands.envs.shop import ShopEnv
from errands.errors import CatalogError, SettingError
from errands.shop.build.builder import build_catalog, generate_catalog
from errands.shop.build.export import export_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.rules import Purchase, released


class Place:
    """A database with people in it, and a clock one can turn."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now = 1_000_000.0
        self.people = Accounts(database, self.clock)
        self.people.set_password("correct horse")
        admin = self.people.admin("correct horse")
        assert admin is not None
        self.admin = admin
        self.writings = WritingAssignments(database, self.clock)
        write_settings(database, WritingSettings(is_open=True, budget=100.0))

    def clock(self) -> float:
        self.now += 1.0
        return self.now

    def worker(self, name: str, *, qualified: bool = False) -> Person:
        person = self.people.invite(name, "worker").person
        if qualified:
            decision = Qualification(
                person.id, "instructions", "granted", self.clock(), self.admin.id, ""
            )
            save_qualification(self.database, decision)
        return person

    def taken(self, person: Person, catalog: Catalog) -> WritingAssignment:
        writing = self.writings.begin(person, catalog)
        assert writing is not None
        return writing

    def written(
        self, person: Person, catalog: Catalog, text: str = "Find me one, please"
    ) -> WritingAssignment:
        writing = self.taken(person, catalog)
        handed = self.writings.submit(person.id, writing.id, draft(writing, text))
        assert handed.is_new
        assert not handed.problems
        return handed.assignment


def draft(writing: WritingAssignment, text: str = "Find me one, please") -> InstructionDraft:
    options = {name: values[-1] for name, values in writing.shown.options.items()}
    return InstructionDraft(text, writing.shown.attributes[:2], options)


@pytest.fixture
def site(database: Database) -> Place:
    return Place(database)


def test_a_worker_is_qualified_by_trials(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann")
    writings = site.writings
    for done in range(3):
        account = writings.account(ann.id)
        assert (account.status, account.trials_handed_in) == ("trial", done)
        assert site.written(ann, little).is_trial
    assert writings.account(ann.id).status == "waiting"
    with pytest.raises(NotAllowed, match="being reviewed"):
        writings.begin(ann, little)
    with pytest.raises(Conflict, match="0 of 3 trials"):
        writings.decide(ann.id, "granted", site.admin)
    first, second, third = waiting(site.database)
    writings.review(first.id, "accepted", site.admin)
    writings.review(second.id, "refused", site.admin, "no kind of product is named")
    writings.review(third.id, "accepted", site.admin)
    account = writings.account(ann.id)
    assert (account.trials_reviewed, account.trials_accepted) == (3, 2)
    assert account.earned == pytest.approx(0.30)
    assert account.status == "waiting"
    writings.decide(ann.id, "granted", site.admin)
    written = site.written(ann, little)
    assert (written.status, written.is_trial, written.pay) == ("accepted", False, 0.15)
    writings.decide(ann.id, "refused", site.admin, "copies")
    with pytest.raises(NotAllowed, match="not been qualified"):
        writings.begin(ann, little)
    assert writings.account(ann.id).note == "copies"


def test_a_refusal_comes_between_taking_and_handing_in(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann", qualified=True)
    writing = site.taken(ann, little)
    site.writings.decide(ann.id, "refused", site.admin)
    with pytest.raises(NotAllowed):
        site.writings.submit(ann.id, writing.id, draft(writing))
    assert site.writings.of(ann.id, writing.id).status == "taken"


def test_what_is_in_hand_is_handed_in_though_trials_became_fewer(
    site: Place, little: Catalog
) -> None:
    ann = site.worker("Ann")
    site.written(ann, little)
    site.written(ann, little)
    writing = site.taken(ann, little)
    write_settings(site.database, WritingSettings(is_open=True, budget=100.0, trials=2))
    assert site.writings.account(ann.id).status == "waiting"
    assert site.writings.submit(ann.id, writing.id, draft(writing)).is_new
    with pytest.raises(NotAllowed):
        site.writings.begin(ann, little)


def test_settings_count_when_a_thing_is_done(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann", qualified=True)
    site.written(ann, little)
    write_settings(
        site.database,
        WritingSettings(is_open=True, budget=100.0, pay=0.5, review=True, trials=2, wanted=2),
    )
    assert read_settings(site.database).wanted == 2
    later = site.written(ann, little)
    assert (later.status, later.pay) == ("submitted", 0.5)
    account = site.writings.account(ann.id)
    assert (account.earned, account.waiting) == (0.15, 1)
    bob = site.worker("Bob")
    site.written(bob, little)
    site.written(bob, little)
    assert site.writings.account(bob.id).status == "waiting"


@pytest.mark.parametrize(
    "wrong",
    [{"pay": -1}, {"pay": float("nan")}, {"pay": "x"}, {"trials": 1}, {"trials": 6}, {"wanted": 0}],
)
def test_settings_that_are_not_possible(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="not possible"):
        checked_settings(wrong)


def test_a_product_in_hand_stays(site: Place, little: Catalog) -> None:
    ann, bob = site.worker("Ann"), site.worker("Bob")
    first = site.taken(ann, little)
    assert site.taken(ann, little) == first == site.writings.open_one(ann.id)
    assert site.taken(bob, little).asin != first.asin
    for writing in (first, site.taken(bob, little)):
        assert writing.shown == shown(little[writing.asin])
        assert writing.shown.attributes


def test_the_same_seed_gives_the_same_products(little: Catalog, tmp_path: Path) -> None:
    seen = []
    for place in ("one", "two", "other"):
        with open_database(str(tmp_path / place)) as database:
            site = Place(database)
            write_settings(
                database,
                WritingSettings(is_open=True, budget=100.0, seed=1 if place == "other" else 0),
            )
            ann = site.worker("Ann", qualified=True)
            seen.append([site.written(ann, little).asin for _ in range(6)])
    assert seen[0] == seen[1] != seen[2]


def test_every_product_comes_once_and_then_none(site: Place, tmp_path: Path) -> None:
    generate_catalog(tmp_path / "tiny", products=30, seed=3)
    tiny = Catalog.open(tmp_path / "tiny")
    usable = {product.asin for product in tiny if shown(product).attributes}
    write_settings(site.database, WritingSettings(is_open=True, budget=100.0, wanted=2))
    people = [site.worker(name, qualified=True) for name in ("Ann", "Bob", "Cid")]
    written: list[tuple[str, str]] = []
    given_back = site.taken(people[0], tiny)
    site.writings.return_(people[0].id, given_back.id)
    for person in people:
        while (writing := site.writings.begin(person, tiny)) is not None:
            site.writings.submit(person.id, writing.id, draft(writing))
            written.append((person.name, writing.asin))
    assert len(set(written)) == len(written)
    assert ("Ann", given_back.asin) not in written
    assert Counter(asin for _, asin in written) == dict.fromkeys(usable, 2)


def test_a_product_that_was_left_goes_back(site: Place, tmp_path: Path) -> None:
    generate_catalog(tmp_path / "one", products=1, seed=3)
    one = Catalog.open(tmp_path / "one")
    ann, bob = site.worker("Ann"), site.worker("Bob")
    left = site.taken(ann, one)
    assert site.writings.begin(bob, one) is None
    site.now += 24 * 3600
    assert site.taken(bob, one).asin == left.asin
    with pytest.raises(Conflict, match="after a day"):
        site.writings.submit(ann.id, left.id, draft(left))
    assert site.writings.begin(ann, one) is None


def test_nobody_touches_what_another_has(site: Place, little: Catalog) -> None:
    ann, bob = site.worker("Ann"), site.worker("Bob")
    writing = site.taken(ann, little)
    for deed in (
        lambda: site.writings.of(bob.id, writing.id),
        lambda: site.writings.return_(bob.id, writing.id),
        lambda: site.writings.submit(bob.id, writing.id, draft(writing)),
        lambda: site.writings.review(10**12, "accepted", site.admin),
    ):
        with pytest.raises(NotFound):
            deed()
    with pytest.raises(Conflict, match="Nothing has been submitted"):
        site.writings.review(writing.id, "accepted", site.admin)
    assert site.writings.open_one(ann.id) == writing


def test_what_is_wrong_changes_nothing(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann")
    writing = site.taken(ann, little)
    handed = site.writings.submit(ann.id, writing.id, InstructionDraft(writing.shown.title, ()))
    assert {problem.field for problem in handed.problems} >= {"attributes", "instruction"}
    assert site.writings.of(ann.id, writing.id) == writing


def test_a_replay_changes_nothing(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann")
    written = site.written(ann, little, "Find  me <b>one</b>, 'please'")
    again = site.writings.submit(
        ann.id, written.id, draft(written, " Find me <b>one</b>, 'please' ")
    )
    assert (again.assignment, again.is_new, again.problems) == (written, False, [])
    with pytest.raises(Conflict, match="Another instruction"):
        site.writings.submit(ann.id, written.id, draft(written, "Something else, please"))
    with pytest.raises(Conflict, match="cannot be returned"):
        site.writings.return_(ann.id, written.id)
    back = site.taken(ann, little)
    given = site.writings.return_(ann.id, back.id)
    assert site.writings.return_(ann.id, back.id) == given
    with pytest.raises(Conflict, match="returned"):
        site.writings.submit(ann.id, back.id, draft(back))


def test_a_mind_is_changed(site: Place, little: Catalog) -> None:
    ann = site.worker("Ann", qualified=True)
    written = site.written(ann, little)
    refused = site.writings.review(written.id, "refused", site.admin, "it says nothing")
    assert (refused.status, refused.note, refused.reviewer) == (
        "refused",
        "it says nothing",
        site.admin.id,
    )
    assert human_records(site.database) == {}
    assert site.writings.account(ann.id).earned == 0
    assert site.writings.review(written.id, "accepted", site.admin).status == "accepted"
    assert list(human_records(site.database)) == [written.asin]


def test_lists(site: Place, little: Catalog) -> None:
    ann, bob = site.worker("Ann", qualified=True), site.worker("Bob")
    for _ in range(PAGE + 2):
        site.written(ann, little)
    mine = site.written(bob, little)
    everything = listed(site.database)
    assert (everything.total, everything.pages, len(everything.writings)) == (PAGE + 3, 2, PAGE)
    assert everything.writings[0] == mine
    assert len(listed(site.database, page=2).writings) == 3
    assert listed(site.database, page=99).page == 2
    assert listed(site.database, person=bob.id).writings == [mine]
    assert listed(site.database, person=bob.id, status="accepted").writings == []
    assert [writer.name for writer in writers(site.database)] == ["Ann", "Bob"]
    site.written(bob, little)
    site.written(bob, little)
    assert [writer.name for writer in writers(site.database)] == ["Bob", "Ann"]
    assert writers(site.database)[0].account == site.writings.account(bob.id)


def test_the_file_makes_goals(site: Place, place: str, little: Catalog, tmp_path: Path) -> None:
    """Written, exported, built: who buys the right thing gets all points."""
    ann, bob = site.worker("Ann Secretname", qualified=True), site.worker("Bob")
    for number in range(12):
        site.written(ann, little, f'I need THING {number}, made with "love" & <b>care</b>.')
    site.written(bob, little)
    out = tmp_path / "items_human_ins.json"
    with open_read_only(place) as source:  # While it is open for writing.
        write_human_file(source, out)
        assert summary(source) == summary(site.database)
    text = out.read_text()
    assert "Secretname" not in text
    assert "Find me" not in text
    records = json.loads(text)
    assert len({one["worker_id"] for held in records.values() for one in held}) == 1
    found = summary(site.database)
    assert (found.products, found.writers, found.statuses) == (
        12,
        1,
        {"accepted": 12, "submitted": 1},
    )
    assert found.pay == pytest.approx(12 * 0.15)
    items, mined = tmp_path / "items.json", tmp_path / "mined.json"
    export_catalog(little, items=items, attributes=mined)
    build_catalog(tmp_path / "built", items=items, attributes=mined, human=out)
    built = Catalog.open(tmp_path / "built")
    goals = built.goals("human")
    assert len(goals) == 12
    written = {one.asin: one for one in listed(site.database, person=ann.id).writings}
    with_options = 0
    for index in range(len(goals)):
        goal = goals[index]
        one = written[goal.asin]
        assert goal.attributes == one.attributes
        assert goal.goal_options == tuple(one.options.values())
        assert goal.instruction_text.startswith(one.instruction.lower().strip("."))
        product = built[goal.asin]
        right = Purchase(product, one.options, goals.price(product))
        assert released(right, goal).total == 1.0
        if one.options:
            with_options += 1
            assert released(right._replace(options={}), goal).total < 1.0
    assert with_options
    shop = ShopEnv(built, goals="human", observation="text")
    for index in range(len(goals)):
        one = written[goals[index].asin]
        shop.reset(options={"goal": index})
        bought = None
        for action in (
            f"search[{one.shown.title}]",
            f"click[{one.asin}]",
            *(f"click[{value}]" for value in one.options.values()),
            "click[buy now]",
        ):
            bought = shop.step(action)
        assert bought is not None
        assert (bought[1], bought[2]) == (1.0, True)


def test_the_file_is_written_whole_or_not(site: Place, tmp_path: Path) -> None:
    out = tmp_path / "file.json"
    write_human_file(site.database, out)
    assert out.read_text() == "{}"
    with pytest.raises(CatalogError, match="exists already"):
        write_human_file(site.database, out)
    write_human_file(site.database, out, replace=True)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_reading_is_only_reading(site: Place, place: str, tmp_path: Path) -> None:
    with open_read_only(place) as source:
        before = source.rows("SELECT count(*) FROM people")
        site.worker("Ann")
        assert source.rows("SELECT count(*) FROM people") == before, "one moment"
        with pytest.raises(Exception, match="read"):
            source.rows("DELETE FROM people RETURNING id")
    for wrong in (str(tmp_path / "none"), "ftp://x"):
        with pytest.raises(StorageError), open_read_only(wrong):
            pass
    other = tmp_path / "other"
    other.write_text("no database")
    with pytest.raises(StorageError), open_read_only(str(other)):
        pass


def test_drawing_looks_at_a_few_products_only(
    little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Counter[int]()
    look = Catalog.product_at

    def counted(catalog: Catalog, row: int) -> object:
        looked[row] += 1
        return look(catalog, row)

    monkeypatch.setattr(Catalog, "product_at", counted)
    for number in range(100):
        assert draw_product(little, 0, number, lambda asin: True, lambda: lambda asin: True)
    assert sum(looked.values()) < 250
    monkeypatch.setattr(product_draw, "WALK", 10)
    looked.clear()
    assert draw_product(little, 0, 1, lambda asin: False, lambda: lambda asin: False) is None
    assert sum(looked.values()) == product_draw.DRAWS + 10


@pytest.mark.shared
def test_real_products_make_goals_that_can_be_reached(
    catalog_1k: Catalog, recorded: Path, tmp_path: Path
) -> None:
    data = recorded.parents[1] / "data" / "webshop-1k"
    with open_database(str(tmp_path / "site.sqlite")) as database:
        site = Place(database)
        ann = site.worker("Ann", qualified=True)
        written = {one.asin: one for one in (site.written(ann, catalog_1k) for _ in range(80))}
        out = tmp_path / "items_human_ins.json"
        write_human_file(database, out)
    build_catalog(
        tmp_path / "built",
        items=data / "items_shuffle_1000.json",
        attributes=data / "items_ins_v2_1000.json",
        human=out,
    )
    built = Catalog.open(tmp_path / "built")
    goals = built.goals("human")
    assert len(goals) == len(written) == 80
    for index in range(len(goals)):
        goal, one = goals[index], written[goals[index].asin]
        assert (goal.attributes, goal.goal_options) == (
            one.attributes,
            tuple(one.options.values()),
        )
        product = built[goal.asin]
        if product.nouns:
            right = Purchase(product, one.options, goals.price(product))
            assert released(right, goal).total == 1.0, goal
