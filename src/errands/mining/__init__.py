"""Any table of products as a shop: the original's items file, and attributes mined from it.

    from errands.mining import make_shop

    make_shop(Path("products.csv"), Path("my-shop"))

`ProductFile` reads a table by a `ColumnMap`; `mine` finds candidates for attributes, `Review` is
what people decide about them; `AttributeAssignment` gives the kept ones to products.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["AttributeAssignment", "ColumnMap", "ProductFile", "Review", "make_shop", "mine"]

if TYPE_CHECKING:
    from errands.mining.assignment import AttributeAssignment
    from errands.mining.candidates import mine
    from errands.mining.own_shop import make_shop
    from errands.mining.product_file import ProductFile
    from errands.mining.review import Review
    from errands.mining.table.column_map import ColumnMap
else:
    __getattr__ = lazy_exports(__name__)
