"""Where an address of the shop's website leads, with refusals that visitors can read.

How a shopper came from one page to another is found out in `errands.crowd.shopping.page_addresses`.
"""

from errands.crowd.shopping.page_addresses import Move, NoPage, move_between, on_the_way
from errands.crowd.shopping.page_addresses import page_at as look_up
from errands.shop.navigation import Page, Shop
from errands.shop.urls import Address
from errands.web.core.http_errors import Refusal

__all__ = ["Move", "move_between", "on_the_way", "page_at"]


def page_at(shop: Shop, address: Address, visited: tuple[str, ...]) -> Page:
    """The page at an address; what the shop does not have is a `Refusal`."""
    try:
        return look_up(shop, address, visited)
    except NoPage as missing:
        raise Refusal(missing.status, missing.code, str(missing)) from None
