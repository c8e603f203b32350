"""Whether a page tells of more than was read from it: then it was not understood.

A layout that no reader knows gives an empty record, and an empty shop looks like a shop that has
nothing. What tells the two apart is what the page says of itself: how many results there are, its
product data, its prices. A page that says that there is nothing is believed.
"""

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from errands.prices import money
from errands.transfer.sites.markup import (
    MOST_PARTS,
    first_text,
    meta,
    parse,
    result_count,
    text_of,
    upwards,
)
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.schema_data import kinds_of, things

__all__ = ["says_nothing", "unread_item", "unread_results"]

_NOTHING: Final = re.compile(
    r"\b(?:no (?:exact )?(?:results?|match(?:es)?|products?|items?|goods|listings?)\b(?! in your)"
    r"|0 (?:results?|products?|items?|ergebnisse|résultats?|resultados?|risultati|treffer)\b"
    r"|did(?: not|n.t) match any|(?:couldn.t|could not|can.t|cannot) find (?:any|what)"
    r"|nothing (?:here|(?:was )?found|matche[sd])|sorry, (?:we|there|no)"
    r"|keine (?:ergebnisse|treffer|artikel|produkte)|nichts gefunden"
    r"|aucun (?:résultat|produit|article)|sin resultados|no (?:se han |hemos )?encontra\w{1,9}"
    r"|no hay (?:resultados|productos)|nessun (?:risultato|prodotto)"
    r"|geen (?:resultaten|producten|artikelen)|nenhum (?:resultado|produto)|ingen resultat"
    r"|brak wyników|nie znaleziono|nebyl[oay]? nalezen|ничего не найдено|не найдено"
    r"|sonuç bulunamadı|không tìm thấy|tidak ditemukan)"
    r"|不到|没有找到|見つかりません|ありません|검색 ?결과가 없",
    re.IGNORECASE,
)
_NOT_FOUND: Final = re.compile(
    r"\bpage (?:not found|non trouvée|introuvable)|página (?:no|não) encontrada|pagina non trovata"
    r"|seite nicht gefunden|pagina niet gevonden|strona nie znaleziona|страница не найдена|\b404\b",
    re.IGNORECASE,
)
_PRODUCTS: Final = frozenset({"Product", "ProductGroup", "IndividualProduct", "ProductModel"})
_PRICED: Final = '[class*="price" i], [itemprop="price"], [data-price]'
_HEADED: Final = (
    "title, h1, h2, h3, [class*=count i], [class*=result i], [class*=total i], [class*=empty i],"
    " [class*=found i]"
)
"""Where a page says how much it has found."""
_ANSWERS: Final = "title, h1, h2, h3, [class*=found i], [class*=no-result i], [class*=noresult i]"
_OF_THE_CART: Final = re.compile(
    r"cart\b|basket|\bbag\b|trolley|panier|warenkorb|carrito|cesta|carrello|wish ?list|koszyk",
    re.IGNORECASE,
)
_LONGEST: Final = 200
_LEAST: Final = 2
_MUCH: Final = 1_000
_LARGE: Final = 20_000
_MOSTLY: Final = 50
"""Characters of markup and scripts for one that can be read."""


def unread_results(html: str, results: SiteResults, *, is_first: bool = True) -> str:
    """What a page of results tells of although nothing was read from it; empty where nothing is.

    Behind the first page a count alone says nothing: it is there when the results are over, too.
    """
    if results.cards:
        return ""
    if "ids" in results.missing or results.left_out >= _LEAST:
        return f"it has {results.left_out} entries, of which none could be opened"
    tree = parse(html)
    said = _headed(tree)
    counts = [count for text in said if (count := result_count(text)) is not None]
    count = results.total if results.total is not None else max(counts, default=0)
    title = first_text(tree, "title")
    if _NOT_FOUND.search(title):
        return f"its title is {title[:_LONGEST]!r}"
    if any(_NOTHING.search(text) for text in said):
        return ""
    if count and is_first:
        return f"it says that there are {count:,} results"
    listed = _listed(html)
    if listed >= _LEAST:
        return f"its data lists {listed} products"
    priced = _priced(tree)
    if priced >= _LEAST:
        return f"it shows {priced} prices"
    if _NOTHING.search(text_of(tree.body)) or results.total == 0:
        return ""
    if is_first and _is_drawn(html, tree):
        return "it is drawn by its scripts, which are not run"
    if is_first and len(text_of(tree.body)) > _MUCH:
        return "it neither lists a product nor says that there is none"
    return ""


def says_nothing(tree: LexborHTMLParser) -> bool:
    """Whether a page says that it has found nothing: what it lists then is something else."""
    if _NOT_FOUND.search(first_text(tree, "title")):
        return True
    said = [text_of(node)[:_LONGEST] for node in tree.css(_ANSWERS)[:MOST_PARTS]]
    return any(_NOTHING.search(text) and not _OF_THE_CART.search(text) for text in said)


def _headed(tree: LexborHTMLParser) -> list[str]:
    return [text_of(node)[:_LONGEST] for node in tree.css(_HEADED)[:MOST_PARTS]]


def _is_drawn(html: str, tree: LexborHTMLParser) -> bool:
    """Whether a page is hardly more than scripts."""
    return len(html) > _LARGE and _MOSTLY * len(text_of(tree.body)) < len(html)


def _listed(html: str) -> int:
    """How many products the data of a page tells of."""
    data = things(parse(html, keep_scripts=True))
    products = sum(bool(kinds_of(each) & _PRODUCTS) for each in data)
    lists = [each for each in data if "ItemList" in kinds_of(each)]
    elements = [each.get("itemListElement") for each in lists]
    return max([products, *(len(one) for one in elements if isinstance(one, list))])


def _priced(tree: LexborHTMLParser) -> int:
    """How many places show a price, each box of them once."""
    boxes: set[int] = set()
    for node in tree.css(_PRICED)[:MOST_PARTS]:
        said = text_of(node)
        if not said or len(said) > _LONGEST or not any(money(said).prices):
            continue
        if not any(above.mem_id in boxes for above in upwards(node)):
            boxes.add(node.mem_id)
    return len(boxes)


def unread_item(html: str, product: SiteProduct) -> str:
    """What an item's page tells of although nothing was read; empty where something was."""
    told = (
        product.prices, product.bullets, product.description, product.options, product.category
    )  # fmt: skip
    if product.title and any(told):
        return ""
    tree = parse(html, keep_scripts=True)
    kind = meta(tree, "og:type").lower()
    if "product" in kind:
        return f"it says that it is a {kind}"
    if any(kinds_of(each) & _PRODUCTS for each in things(tree)):
        return "it has the data of a product"
    if tree.css_first('[itemprop="price"], [itemtype*="Product"]') is not None:
        return "it has a product's price"
    if not product.title:
        return "it has no title of a product"
    shown = parse(html)
    if _priced(shown):
        return "it shows a price"
    return "it is drawn by its scripts, which are not run" if _is_drawn(html, shown) else ""
