"""The original's hidden queries, `<r>`, `<a>`, `<c>` and `<q>`: off unless asked for.

They list products by properties that an agent must not see, so an environment has them only
with `special_queries=True`.
"""

import random
import zlib

from errands.shop.catalog.catalog import Catalog

__all__ = ["special_hits"]


def special_hits(catalog: Catalog, query: str) -> tuple[int, ...] | None:
    """The product numbers that a special query lists; None where it is an ordinary one.

    `<r>` draws 50 products by a generator seeded with the query, so that the same query shows
    the same page; `<a> words` lists by attribute, `<c> word` by category, `<q> words` by the
    product's own query, all in load order.
    """
    token, *words = query.split(" ")
    rest = " ".join(words).strip()
    if token == "<r>":
        rng = random.Random(zlib.crc32(query.encode("utf-8", "surrogatepass")))
        return tuple(rng.sample(range(len(catalog)), min(50, len(catalog))))
    if token == "<a>":
        return tuple(
            catalog.number(product.asin) for product in catalog if rest in product.attributes
        )
    if token == "<c>":
        wanted = words[0] if words else ""
        return tuple(catalog.number(p.asin) for p in catalog if p.category == wanted)
    if token == "<q>":
        return tuple(catalog.number(p.asin) for p in catalog if p.query == rest)
    return None
