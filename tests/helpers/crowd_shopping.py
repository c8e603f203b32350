"""A shop's log without a website: people who shop by stepping."""

import itertools
from collections.abc import Callable, Iterator

import msgspec

from errands.crowd.accounts.accounts import Accounts, Person
from errands.crowd.shopping.assignments import ShoppingAssignment, ShoppingAssignments
from errands.crowd.shopping.steps import LoggedPurchase, LoggedStep, ShopSession, StepLog
from errands.crowd.store.database import Database, Run
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase
from errands.shop.urls import Address, build


class Clock:
    """Goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Street:
    """A database, its people, and a shop."""

    def __init__(
        self, database: Database, catalog: Catalog, seed: int = 0, goals: str = "synthetic"
    ) -> None:
        self.database = database
        self.catalog = catalog
        self.clock = Clock()
        self.goals = catalog.goals(goals)
        about = {
            "catalogue": catalog.manifest.checksum,
            "goals": f"{goals} ({len(self.goals)})",
            "rules": "released",
        }
        self.log = StepLog(database, about)
        self.people = Accounts(database)
        self.outings = ShoppingAssignments(database, self.goals, seed=seed, clock=self.clock)
        self.log.watcher = self.outings
        opened = msgspec.structs.replace(self.outings.settings(), is_open=True, budget=1000.0)
        # By another, so that tests may give this one other goals.
        ShoppingAssignments(database, self.goals).set_settings(opened)

    def worker(self, name: str) -> Person:
        return self.people.invite(name, "worker").person

    def start(self, goal: int, also: Callable[[Run, int], None] | None) -> None:
        number = self.log.next_number()
        name = f"s{number}"
        session = ShopSession(number, name, goal, self.clock(), None, None)
        first = LoggedStep(0, session.began, "", 0, True, SEARCH, build(Address(SEARCH, name)))
        told = None if also is None else (lambda run: also(run, number))
        self.log.begin(session, self.goals[goal], first, told)

    def begin(self, person: Person) -> ShoppingAssignment:
        return self.outings.begin(person.id, self.start)

    def walk(
        self, outing: ShoppingAssignment, *, options: bool = True
    ) -> Iterator[tuple[str, Address]]:
        """Actions and where they lead: the wanted product is found and bought."""
        goal = self.goals[outing.goal]
        query = self.catalog[goal.asin].title.lower()
        query = "".join(sign for sign in query if sign.isalnum() or sign == " ")
        here = Address(RESULTS, outing.name, " ".join(query.split()))
        yield f"search[{here.query}]", here
        here = here._replace(page=ITEM, asin=goal.asin)
        yield f"click[{goal.asin.lower()}]", here
        if options:
            assert isinstance(goal.goal_options, dict)
            for pair in goal.goal_options.items():
                here = here._replace(options=(*here.options, pair))
                yield f"click[{pair[1]}]", here
        yield "click[buy now]", Address(DONE, outing.name, asin=goal.asin, options=here.options)

    def shop(
        self, outing: ShoppingAssignment, reward: float | None = None, *, options: bool = True
    ) -> None:
        """Everything up to the purchase, which is worth what it is worth, or what is said."""
        for number, (action, address) in zip(
            itertools.count(1), self.walk(outing, options=options), strict=False
        ):
            step = LoggedStep(
                number, self.clock(), action, number - 1, True, address.page, build(address)
            )
            if address.page != DONE:
                self.log.append(outing.session, step)
            else:
                self.log.finish(outing.session, step, self.bought(outing, address, reward))

    def bought(
        self, outing: ShoppingAssignment, address: Address, reward: float | None = None
    ) -> LoggedPurchase:
        product = self.catalog[address.asin]
        price = self.goals.price(product)
        purchase = Purchase(product, dict(address.options), price)
        found = rules_named("released")(purchase, self.goals[outing.goal])
        total = found.total if reward is None else reward
        return LoggedPurchase(address.asin, address.options, price, total, found.parts)

    def errand(
        self, person: Person, reward: float | None = None, *, options: bool = True
    ) -> ShoppingAssignment:
        outing = self.begin(person)
        self.shop(outing, reward, options=options)
        return outing
