"""Which page an address of the shop's website shows, and which action leads there from another.

On the site the address is the state, so that Back, reload and a second tab work. What a visitor
did is inferred from the page that was left and the address that was requested, and is checked:
an action counts as exact only if the state machine, given it, comes to the same page.
"""

from typing import NamedTuple

from errands.errors import ErrandsError
from errands.shop.navigation import (
    BACK,
    BUY,
    DETAILS,
    DONE,
    ITEM,
    NEXT,
    PREVIOUS,
    RESULTS,
    SEARCH,
    Page,
    Shop,
    State,
)
from errands.shop.urls import Address, build

__all__ = ["InferredAction", "PageNotFound", "action_between", "page_at", "pages_between"]


class PageNotFound(ErrandsError):
    """An address leads to no page of this shop."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        """As a website answers."""
        self.code = code


class InferredAction(NamedTuple):
    """An action, and whether the environment would come to the same page by it."""

    action: str
    exact: bool


def page_at(shop: Shop, address: Address, visited: tuple[str, ...]) -> Page:
    """The page at an address; what the shop does not have is `PageNotFound`."""
    if address.page == SEARCH:
        return shop.look(State())
    if address.number < 1:
        raise PageNotFound(404, "no_page", "Pages of results are counted from 1.")
    if address.page == RESULTS:
        first = shop.search(State(visited=visited), address.query)
        if address.number == 1:
            return first
        hits = first.state.hits
        return shop.look(State(RESULTS, address.query, address.number, hits, visited=visited))
    if address.page == "attributes" and not shop.show_attrs:
        raise PageNotFound(404, "no_page", "This shop does not show that page.")
    number = shop.source.number(address.asin)
    if number < 0:
        raise PageNotFound(404, "no_product", "This shop has no product with that number.")
    product = shop.source.product(number)
    for name, value in address.options:
        if name not in product.options:
            raise PageNotFound(400, "no_option", f"This product has no option “{name[:80]}”.")
        if value not in product.options[name]:
            raise PageNotFound(
                400, "no_option", f"This product has no {name[:80]} “{value[:80]}” to choose."
            )
    state = State(address.page, address.query, address.number, (), number, address.options, visited)
    return shop.look(state, product)


def pages_between(here: Address, after: Address) -> tuple[Address, ...]:
    """The pages that a link leads over: from a page below a product to the results it is one of."""
    if here.page in DETAILS and after == Address(RESULTS, here.session, here.query, here.number):
        return (here._replace(page=ITEM),)
    return ()


def action_between(shop: Shop, before: Page, here: Address, after: Address) -> InferredAction:
    """How a visitor came from a page (whose address is `here`) to another one."""
    action = _guess(here, after)
    if action is None:
        return InferredAction(f"go[{build(after)}]", False)
    reached = shop.turn(before, action)
    return InferredAction(action, reached is not before and _is_at(reached, after))


def _guess(here: Address, after: Address) -> str | None:
    kind = after.page
    same_search = (here.query, here.number) == (after.query, after.number)
    if kind == SEARCH:
        return f"click[{BACK}]"
    if kind == RESULTS:
        if here.page == ITEM and same_search:
            return f"click[{PREVIOUS}]"
        if here.page == RESULTS and here.query == after.query:
            steps = {here.number + 1: NEXT, here.number - 1: PREVIOUS}
            if after.number in steps:
                return f"click[{steps[after.number]}]"
        return f"search[{after.query}]" if after.number == 1 else None
    if here.page == RESULTS:
        return f"click[{after.asin.lower()}]" if kind == ITEM and not after.options else None
    if here.asin != after.asin:
        return None
    if kind == DONE:
        return f"click[{BUY}]"
    if kind in DETAILS:
        return f"click[{kind}]"
    if here.page in DETAILS:
        return f"click[{PREVIOUS}]"
    chosen = [pair for pair in after.options if pair not in here.options]
    return f"click[{chosen[0][1]}]" if len(chosen) == 1 else None


def _is_at(page: Page, address: Address) -> bool:
    """Whether a page is the one at an address, as far as the address tells."""
    state = page.state
    if state.page != address.page:
        return False
    if state.page == SEARCH:
        return True
    if state.page != DONE and (state.query, state.number) != (address.query, address.number):
        return False
    if state.page == RESULTS:
        return True
    assert page.product is not None
    return page.product.asin == address.asin and page.options == dict(address.options)
