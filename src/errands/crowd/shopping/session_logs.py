"""The original WebShop's logs of its visitors, as demonstrations.

Its site wrote a file of JSON lines for each session (`user_session_logs/.../{session}.jsonl`): the
pages that were shown, not what was done. The actions are found out page by page, as on our own
site: one counts only if the shop, given it, comes to the page that the log shows next. There are
no times in these logs.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from errands.crowd.shopping.human_run import (
    DemonstrationExport,
    FinishedSession,
    NotReplayable,
    RejectedSession,
    SessionPath,
    human_protocol,
    path_to_purchase,
    rejection,
    write_run,
)
from errands.crowd.shopping.steps import LoggedStep
from errands.errors import DataError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet, price_phrase
from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH, Shop
from errands.shop.page_addresses import PageNotFound, action_between, page_at, pages_between
from errands.shop.urls import Address, build

__all__ = ["SessionLog", "import_logs", "read_log", "retrace"]

WHO: Final = "a visitor of the original"
_PAGES: Final = {
    "index": SEARCH,
    "search_results": RESULTS,
    "item_page": ITEM,
    "item_sub_page": "",
    "done": DONE,
}
_DETAIL: Final = re.compile(rf"/({'|'.join(DETAILS)})(?:/|$)", re.IGNORECASE)
_LARGEST: Final = 64 * 2**20
"""Bytes of a session's file."""


class SessionLog(msgspec.Struct, frozen=True):
    """What one file says."""

    name: str
    goal: Mapping[str, Any]
    """The original's record of the goal."""
    addresses: tuple[Address, ...]
    """The pages, in their order."""
    reward: float | None
    """None for a session that bought nothing."""


def read_log(path: Path) -> SessionLog:
    """One session's file."""
    name = re.sub("[^A-Za-z0-9_-]", "_", path.stem)[:64] or "session"
    try:
        if path.stat().st_size > _LARGEST:
            raise NotReplayable(f"{path.name} is too large to be one session's log")
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise NotReplayable(f"{path.name} is not UTF-8 text") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    addresses: list[Address] = []
    goal: Mapping[str, Any] | None = None
    reward: float | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            addresses.append(_address(name, record))
            goal = dict(record["goal"]) if goal is None else goal
            if record["page"] == "done":
                reward = float(record["reward"])
                break
        except (
            *(ValueError, OverflowError, KeyError, TypeError, AttributeError),
            # Of Python's reader of literals.
            *(RecursionError, SyntaxError, MemoryError),
        ):
            raise NotReplayable(f"line {number} is not what the original's site writes") from None
    if goal is None:
        raise NotReplayable("it is empty")
    return SessionLog(name, goal, tuple(addresses), reward)


def _address(name: str, record: Any) -> Address:
    """Where a record was made: its content says it better than its URL."""
    page = _PAGES[record["page"]]
    if page == SEARCH:
        return Address(SEARCH, name)
    content = record["content"]
    if page == RESULTS:
        return Address(RESULTS, name, _query(content["keywords"]), int(content["page"]))
    options = tuple((str(key), str(value)) for key, value in dict(content["options"]).items())
    asin = str(content["asin"])
    if page == DONE:
        return Address(DONE, name, asin=asin, options=options)
    if not page:
        detail = _DETAIL.search(urlsplit(record["url"]).path)
        if detail is None:
            raise ValueError("a page below a product, and the URL does not say which")
        page = detail[1].lower()
    return Address(page, name, _query(content["keywords"]), int(content["page"]), asin, options)


def _query(keywords: Any) -> str:
    """The words of a search: a list, or the literal of one."""
    if isinstance(keywords, str):
        keywords = ast.literal_eval(keywords) if keywords.startswith("[") else [keywords]
    if not isinstance(keywords, list):
        raise ValueError("keywords are a list")
    return " ".join(map(str, keywords))


def retrace(shop: Shop, addresses: Sequence[Address]) -> list[LoggedStep]:
    """Steps with the actions that lead from page to page.

    The log does not say on which page something was clicked. It was the one before, if that is
    possible, else the latest earlier page on which it is, as for somebody who went back.
    """
    name = addresses[0].session if addresses else ""
    front = Address(SEARCH, name)
    seen = [front]
    steps = [LoggedStep(0, 0.0, "", 0, True, SEARCH, build(front))]
    for shown in addresses:
        if shown == seen[-1]:
            continue
        for address in (*pages_between(seen[-1], shown), shown):
            action, exact, source = _action_to(shop, seen, address)
            steps.append(
                LoggedStep(len(seen), 0.0, action, source, exact, address.page, build(address))
            )
            seen.append(address)
    return steps


def _action_to(shop: Shop, seen: Sequence[Address], address: Address) -> tuple[str, bool, int]:
    first = None
    tried: set[Address] = set()
    for source in range(len(seen) - 1, -1, -1):
        here = seen[source]
        if here in tried:
            continue
        tried.add(here)
        try:
            move = action_between(shop, page_at(shop, here, ()), here, address)
        except PageNotFound:
            continue
        if move.exact:
            return move.action, True, source
        first = first or (move.action, False, source)
    return first or (f"go[{build(address)}]", False, len(seen) - 1)


def import_logs(
    folder: Path,
    out: str | Path,
    *,
    catalog: str,
    goals: str = "human",
    min_reward: float = 0.0,
    observation: str = "text_rich",
    on_episode: Callable[[], None] | None = None,
) -> DemonstrationExport:
    """Write the sessions of a folder (and those below it) as a run.

    A goal is known by its product and its instruction, without what that says of the price: the
    original drew prices anew whenever it was started. So rewards are those of this shop, and
    those that the log says are kept beside them.
    """
    if not folder.is_dir():
        raise SettingError(f"{folder} is no directory; expected one with {{session}}.jsonl files.")
    files = sorted(folder.rglob("*.jsonl"))
    if not files:
        raise SettingError(f"{folder} has no .jsonl files; expected one for each session.")
    opened = Catalog.open(catalog)
    known = _by_text(opened.goals(goals))
    shop = Shop(opened, search_anywhere=True, show_attrs=True)
    paths: list[SessionPath] = []
    unfit: list[RejectedSession] = []
    for number, path in enumerate(files):
        one = FinishedSession(number, path.stem, -1, WHO, False, path.stat().st_mtime, 0.0)
        try:
            log = read_log(path)
            goal = known.get(_key(log.goal))
            if goal is None:
                raise NotReplayable(f"{goals} goals of this catalogue have none like it")
            one = one._replace(goal=goal)
            if log.reward is None:
                raise NotReplayable("nothing was bought")
            if log.reward < min_reward:
                continue
            one = one._replace(reward=log.reward, logged=log.reward)
            paths.append((one, path_to_purchase(retrace(shop, log.addresses))))
        except NotReplayable as reason:
            unfit.append(rejection(one, reason))
    if not paths:
        why = unfit[0] if unfit else None
        raise SettingError(
            f"None of the {len(files)} files of {folder} is a demonstration here"
            + (f"; the first: {why.session}: {why.reason}." if why else ".")
        )
    protocol = human_protocol(opened, goals, observation, "released")
    return write_run(str(out), protocol, paths, unfit, "visitors of the original", on_episode)


def _by_text(goals: GoalSet) -> dict[tuple[str, str], int]:
    """The first goal of each product and instruction."""
    numbers: dict[tuple[str, str], int] = {}
    for number in range(len(goals)):
        goal = goals[number]
        key = goal.asin, _without_price(goal.instruction_text, goal.price_upper)
        numbers.setdefault(key, number)
    return numbers


def _without_price(instruction: str, price_upper: float) -> str:
    return instruction.removesuffix(price_phrase(price_upper)).strip()


def _key(record: Mapping[str, Any]) -> tuple[str, str]:
    try:
        text, price = str(record["instruction_text"]), float(record["price_upper"])
        return str(record["asin"]), _without_price(text, price)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise NotReplayable("its goal has no product, instruction or price") from None
