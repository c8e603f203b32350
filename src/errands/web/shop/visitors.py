"""The visitors of the website: who they are, which goal they have, where they are.

A visitor is what the log says of a session, kept at hand for the next page. Those who have not
been seen for longest are forgotten when there are too many; the log remembers them.
"""

import math
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
from errands.web.core.http_errors import HttpError, not_found
from errands.web.core.limits import ServerLimits

__all__ = ["Visitor", "Visitors"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIXED: Final = re.compile(r".*_([0-9]{1,9})", re.DOTALL)
_MOST_PLACES: Final = 256
"""Pages of a visitor whose steps are remembered; an action is done on one of the last ones."""
_MOST_VISITED: Final = 512
"""Opened products that are marked at most."""
_LOOK_SECONDS: Final = 5.0
"""Between two looks for sessions that may be forgotten, while there are too many."""
_SHARE: Final = 100
"""Of visitors who took steps, one in so many is forgotten at once."""
_MOST_DRAWS: Final = 20
"""Goals that are sampled for a visitor at most, until no worker has one of the same product."""


class Visitor:
    """One session of the website."""

    __slots__ = (
        *("bought", "goal", "goal_index", "here", "name", "number", "places", "steps", "visited"),
    )

    def __init__(self, session: ShopSession, goal: Goal) -> None:
        self.number = session.number
        self.name = session.name
        self.goal = goal
        self.goal_index = session.goal
        self.bought = session.bought
        self.here = Address(SEARCH, session.name)
        """The page seen last."""
        self.steps = 0
        """How many there are in the log."""
        self.places: dict[Address, int] = {}
        """The last step that led to each page."""
        self.visited: tuple[str, ...] = ()

    def follow(self, step: LoggedStep, address: Address) -> None:
        """Go where a step has led."""
        self.here = address
        self.steps = step.number + 1
        self.places.pop(address, None)
        self.places[address] = step.number
        if len(self.places) > _MOST_PLACES:
            del self.places[next(iter(self.places))]
        self.visited = self.visited_at(address)

    def visited_at(self, address: Address) -> tuple[str, ...]:
        """The products that are marked as opened once the visitor is there."""
        if address.page == SEARCH:
            return ()
        if address.page != ITEM or address.asin in self.visited:
            return self.visited
        return (*self.visited, address.asin)[-_MOST_VISITED:]


class Visitors:
    """All visitors of one shop, by the name in their addresses."""

    def __init__(
        self,
        context: ShopContext,
        log: StepLog,
        *,
        seed: int,
        limits: ServerLimits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._context = context
        self._log = log
        self.seed = seed
        self._limits = limits
        self._clock = clock
        self._cache: OrderedDict[str, Visitor] = OrderedDict()
        self.begun = 0
        self._unfinished = log.unfinished()
        """Sessions of visitors (not of workers) that have not ended."""
        self._looked_at = -math.inf
        """When it was last looked for sessions that may be forgotten."""

    def secret(self) -> str:
        """What the keys to sessions' results are made with."""
        return self._log.secret()

    def watch(self, watcher: SessionListener) -> None:
        """Tell a listener when its sessions end."""
        self._log.watcher = watcher

    def begin(self, goal: int, also: Callable[[Run, int], None]) -> Visitor:
        """A session with that goal, under a name nobody can guess; what `also` writes, given the
        session's number, belongs to it."""
        number = self._log.next_number()
        visitor = self._begin(number, secrets.token_hex(16), goal, lambda run: also(run, number))
        return self._keep(visitor)

    def __len__(self) -> int:
        return len(self._cache)

    def of(self, name: str) -> Visitor:
        """The visitor of that name: known, found in the log, or new."""
        return self.find(name) or self._keep(self._create(name))

    def find(self, name: str) -> Visitor | None:
        """The visitor of that name, known or in the log."""
        visitor = self._cache.get(name)
        if visitor is None:
            visitor = self._load(name)
            return None if visitor is None else self._keep(visitor)
        self._cache.move_to_end(name)
        return visitor

    def check(self, name: str) -> int | None:
        """The goal that a visitor of that name is sure to have (None: one is sampled); a name that
        nobody can have is an error."""
        if not _NAME.fullmatch(name):
            raise not_found("There is no such page in this shop.")
        if "fixed" not in name:
            return None
        fixed, last = _FIXED.fullmatch(name), len(self._context.goals) - 1
        if fixed is None or int(fixed[1]) > last:
            message = f"There is no such goal: they are called fixed_0 to fixed_{last}."
            raise HttpError(404, "no_goal", message)
        return int(fixed[1])

    def start(self, goal: int | None) -> Visitor:
        """A new visitor with that goal (None: a sampled one), under a name nobody can guess."""
        return self._keep(self._create(secrets.token_hex(12), goal))

    def _keep(self, visitor: Visitor) -> Visitor:
        self._cache[visitor.name] = visitor
        while len(self._cache) > self._limits.sessions:
            self._cache.popitem(last=False)
        return visitor

    def step(self, visitor: Visitor, address: Address, clicked_on: Address | None) -> None:
        """Log that a visitor came to a page; the page seen last again is no step.

        `clicked_on` is the page that the browser says it was sent from.
        """
        if visitor.bought is not None or address == visitor.here:
            return
        steps = []
        for place in (*pages_between(visitor.here, address), address):
            steps.append(self._step_to(visitor, place, clicked_on))
            visitor.follow(steps[-1], place)
        try:
            self._log.append(visitor.number, *steps)
        except StorageError:
            del self._cache[visitor.name]  # what is not in the log has not happened
            raise

    def buy(
        self,
        visitor: Visitor,
        address: Address,
        clicked_on: Address | None,
        price: float,
        reward: Reward,
    ) -> LoggedPurchase:
        """Log a purchase."""
        bought = LoggedPurchase(address.asin, address.options, price, reward.total, reward.parts)
        step = self._step_to(visitor, address, clicked_on)
        self._log.finish(visitor.number, step, bought)
        if not self._log.is_watched(visitor.number):
            self._unfinished -= 1
        visitor.follow(step, address)
        visitor.bought = bought
        return bought

    def may_buy(self, visitor: Visitor) -> bool:
        """Whether a visitor may see a score now. A worker could get a goal, look for
        it again as a visitor, and learn from the score page what is wanted."""
        watcher = self._log.watcher
        return (
            watcher is None
            or watcher.watches(visitor.number)
            or not watcher.is_wanted(visitor.goal.asin)
        )

    def _step_to(
        self, visitor: Visitor, address: Address, clicked_on: Address | None
    ) -> LoggedStep:
        shop = self._context.shop
        # Most actions follow from the page seen last. Who has two tabs open, or went back, may
        # have acted on an earlier one.
        sources = [visitor.here]
        if clicked_on is not None and clicked_on in visitor.places:
            sources.append(clicked_on)
        candidates = []
        for source in sources:
            try:
                before = page_at(shop, source, visitor.visited)
            except PageNotFound:  # a page that this shop no longer shows
                before = self._context.front
            candidate = action_between(shop, before, source, address)
            candidates.append((candidate, visitor.places.get(source, visitor.steps - 1)))
            if candidate.exact:
                break
        (action, exact), number = candidates[-1] if candidates[-1][0].exact else candidates[0]
        return LoggedStep(
            visitor.steps, self._clock(), action, number, exact, address.page, build(address)
        )

    def _load(self, name: str) -> Visitor | None:
        session = self._log.find(name)
        if session is None:
            return None
        visitor = Visitor(session, self._context.goals[session.goal])
        for step in self._log.steps(session.number):
            address = parse(step.address)
            assert address is not None
            visitor.follow(step, address)
        return visitor

    def _create(self, name: str, goal: int | None = None) -> Visitor:
        fixed = self.check(name)
        if self._unfinished >= self._limits.visitors:
            self._forget_idle()
        if self._unfinished >= self._limits.visitors:
            # Whoever makes up names would fill the disk.
            raise HttpError(503, "busy", "Too many sessions are unfinished; no new one can begin.")
        number = self._log.next_number()
        goals, watcher = self._context.goals, self._log.watcher
        last = len(goals) - 1
        goal = goal if fixed is None else fixed
        if goal is not None:
            if goal > last:
                message = f"There is no goal {goal}; expected 0 to {last}."
                raise HttpError(404, "no_goal", message)
        else:
            # A generator for each session, so that a server that was restarted goes on.
            rng = np.random.default_rng([self.seed, number])
            goal = self._context.draw(rng)
            for _ in range(_MOST_DRAWS):
                if watcher is None or not watcher.is_wanted(goals[goal].asin):
                    break
                goal = self._context.draw(rng)
        visitor = self._begin(number, name, goal)
        self._unfinished += 1
        return visitor

    def _forget_idle(self) -> None:
        """Forget those who came long ago and took no step: anybody can make up names. Where there
        are none, those whose last step was long ago, as a few steps are soon made up, too."""
        now = self._clock()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        forgotten = self._log.forget_idle(now - self._limits.idle_seconds)
        if not forgotten:
            # What people did is not thrown away for more room than is needed soon.
            most = max(1, self._limits.visitors // _SHARE)
            forgotten = self._log.forget_gone(now - self._limits.visit_seconds, most)
        for name in forgotten:
            self._cache.pop(name, None)
            self._unfinished -= 1

    def _begin(
        self, number: int, name: str, goal: int, also: Callable[[Run], None] | None = None
    ) -> Visitor:
        session = ShopSession(number, name, goal, self._clock(), None, None)
        visitor = Visitor(session, self._context.goals[goal])
        first = LoggedStep(0, session.began, "", 0, True, SEARCH, build(visitor.here))
        self._log.begin(session, visitor.goal, first, also)
        visitor.follow(first, visitor.here)
        self.begun += 1
        return visitor
