"""The shoppers of the website: who they are, what they were sent for, where they are.

A shopper is what the log says of a session, kept at hand for the next page. Those who have not
been seen for longest are forgotten when there are too many; the log remembers them.
"""

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import numpy as np

from errands.crowd.shopping.steps import (
    LoggedPurchase,
    LoggedStep,
    SessionListener,
    ShopSession,
    StepLog,
)
from errands.crowd.store.database import Run, StorageError
from errands.envs.episode import ShopContext
from errands.shop.goals import Goal
from errands.shop.navigation import ITEM, SEARCH
from errands.shop.page_addresses import PageNotFound, action_between, page_at, pages_between
from errands.shop.rewards.rules import Reward
from errands.shop.urls import Address, build, parse
from errands.web.core.http_errors import HttpError

__all__ = ["Visitor", "Visitors"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIXED: Final = re.compile(r".*_([0-9]{1,9})", re.DOTALL)
_PLACES: Final = 256
"""Pages of a shopper whose steps are remembered; an action is done on one of the last ones."""
_VISITED: Final = 512
"""Opened products that are marked at most."""
_REDRAWN: Final = 20
"""Goals that are drawn for a stranger at most, until nobody is out for the same product."""


class Visitor:
    """One session."""

    __slots__ = ("bought", "goal", "here", "name", "number", "places", "steps", "visited")

    def __init__(self, session: ShopSession, goal: Goal) -> None:
        self.number = session.number
        self.name = session.name
        self.goal = goal
        self.bought = session.bought
        self.here = Address(SEARCH, session.name)
        """The page seen last."""
        self.steps = 0
        """How many there are in the log."""
        self.places: dict[Address, int] = {}
        """The last step that led to each page."""
        self.visited: tuple[str, ...] = ()

    def follow(self, step: LoggedStep, address: Address) -> None:
        """Be where a step has led."""
        self.here = address
        self.steps = step.number + 1
        self.places.pop(address, None)
        self.places[address] = step.number
        if len(self.places) > _PLACES:
            del self.places[next(iter(self.places))]
        self.visited = self.visited_at(address)

    def visited_at(self, address: Address) -> tuple[str, ...]:
        """The products that are marked as opened once the shopper is there."""
        if address.page == SEARCH:
            return ()
        if address.page != ITEM or address.asin in self.visited:
            return self.visited
        return (*self.visited, address.asin)[-_VISITED:]


class Visitors:
    """All shoppers of one shop, by the name in their addresses."""

    def __init__(
        self,
        setting: ShopContext,
        log: StepLog,
        *,
        seed: int,
        most: int,
        visitors: int = 100_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._setting = setting
        self._log = log
        self.seed = seed
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[str, Visitor] = OrderedDict()
        self.begun = 0
        self._visitors = visitors
        self._waiting = log.unfinished()
        """Sessions that nobody was sent for and that have not ended."""

    def watch(self, watcher: SessionListener) -> None:
        """Let somebody know when sessions of theirs end."""
        self._log.watcher = watcher

    def begin(self, goal: int, also: Callable[[Run, int], None]) -> Visitor:
        """A session for somebody who is sent for that goal, under a name nobody can guess; what
        is noted `also`, given the session's number, belongs to it."""
        number = self._log.next_number()
        shopper = self._begun(number, secrets.token_hex(16), goal, lambda run: also(run, number))
        return self._keep(shopper)

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, name: str) -> Visitor:
        """The shopper of that name: known, found in the log, or new."""
        shopper = self._kept.get(name)
        if shopper is None:
            return self._keep(self._continued(name) or self._new(name))
        self._kept.move_to_end(name)
        return shopper

    def _keep(self, shopper: Visitor) -> Visitor:
        self._kept[shopper.name] = shopper
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return shopper

    def step(self, shopper: Visitor, address: Address, clicked_on: Address | None) -> None:
        """Note that a shopper came to a page; the page seen last again is no step.

        `clicked_on` is the page that the browser says it was sent from.
        """
        if shopper.bought is not None or address == shopper.here:
            return
        steps = []
        for place in (*pages_between(shopper.here, address), address):
            steps.append(self._stepped(shopper, place, clicked_on))
            shopper.follow(steps[-1], place)
        try:
            self._log.append(shopper.number, *steps)
        except StorageError:
            del self._kept[shopper.name]  # what is not in the log has not happened
            raise

    def buy(
        self,
        shopper: Visitor,
        address: Address,
        clicked_on: Address | None,
        price: float,
        reward: Reward,
    ) -> LoggedPurchase:
        """Note a purchase."""
        bought = LoggedPurchase(address.asin, address.options, price, reward.total, reward.parts)
        step = self._stepped(shopper, address, clicked_on)
        self._log.finish(shopper.number, step, bought)
        if not self._log.is_watched(shopper.number):
            self._waiting -= 1
        shopper.follow(step, address)
        shopper.bought = bought
        return bought

    def may_buy(self, shopper: Visitor) -> bool:
        """Whether a shopper may see a score now. A worker could be sent for something, find it
        again as a stranger, and have the score page tell what is wanted."""
        watcher = self._log.watcher
        return (
            watcher is None
            or watcher.watches(shopper.number)
            or not watcher.is_out(shopper.goal.asin)
        )

    def _stepped(
        self, shopper: Visitor, address: Address, clicked_on: Address | None
    ) -> LoggedStep:
        shop = self._setting.shop
        # Most actions follow from the page seen last. Who has two tabs open, or went back, may
        # have acted on an earlier one.
        sources = [shopper.here]
        if clicked_on is not None and clicked_on in shopper.places:
            sources.append(clicked_on)
        moves = []
        for source in sources:
            try:
                before = page_at(shop, source, shopper.visited)
            except PageNotFound:  # a page that this shop no longer shows
                before = self._setting.front
            move = action_between(shop, before, source, address)
            moves.append((move, shopper.places.get(source, shopper.steps - 1)))
            if move.exact:
                break
        (action, exact), number = moves[-1] if moves[-1][0].exact else moves[0]
        return LoggedStep(
            shopper.steps, self._clock(), action, number, exact, address.page, build(address)
        )

    def _continued(self, name: str) -> Visitor | None:
        session = self._log.find(name)
        if session is None:
            return None
        shopper = Visitor(session, self._setting.goals[session.goal])
        for step in self._log.steps(session.number):
            address = parse(step.address)
            assert address is not None
            shopper.follow(step, address)
        return shopper

    def _new(self, name: str) -> Visitor:
        if not _NAME.fullmatch(name):
            raise HttpError(404, "not_found", "There is no such page in this shop.")
        if self._waiting >= self._visitors:
            # Whoever makes up names would fill the disk.
            raise HttpError(
                503, "busy", "Too many errands are waiting for their end; no new one can begin."
            )
        number = self._log.next_number()
        goals, watcher = self._setting.goals, self._log.watcher
        if "fixed" in name:
            asked = _FIXED.fullmatch(name)
            if asked is None or int(asked[1]) >= len(goals):
                raise HttpError(
                    404,
                    "no_errand",
                    f"There is no such errand: they are called fixed_0 to fixed_{len(goals) - 1}.",
                )
            goal = int(asked[1])
        else:
            # A generator for each session, so that a server that was restarted goes on.
            dice = np.random.default_rng([self.seed, number])
            goal = self._setting.draw(dice)
            for _ in range(_REDRAWN):
                if watcher is None or not watcher.is_out(goals[goal].asin):
                    break
                goal = self._setting.draw(dice)
        shopper = self._begun(number, name, goal)
        self._waiting += 1
        return shopper

    def _begun(
        self, number: int, name: str, goal: int, also: Callable[[Run], None] | None = None
    ) -> Visitor:
        session = ShopSession(number, name, goal, self._clock(), None, None)
        shopper = Visitor(session, self._setting.goals[goal])
        first = LoggedStep(0, session.began, "", 0, True, SEARCH, build(shopper.here))
        self._log.begin(session, shopper.goal, first, also)
        shopper.follow(first, shopper.here)
        self.begun += 1
        return shopper
