"""What item pages let people choose."""

import pytest

from errands.transfer.sites.markup import parse
from errands.transfer.sites.shown_options import shown_options


@pytest.mark.parametrize(
    ("select", "groups"),
    [
        (
            '<label for="s">Size:</label><select id="s"><option>Choose an option</option>'
            "<option>S</option><option>M (+$2.00)</option><option>L - Sold out</option></select>",
            {"Size": ("S", "M", "L")},
        ),
        (
            '<select name="attribute_pa_color"><option value="">Elige una opción</option>'
            "<option>Rojo</option></select>",
            {"color": ("Rojo",)},
        ),
        (
            '<select name="options[Farbe]"><option>Farbe: rot</option><option>Farbe: blau</option>'
            "</select>",
            {"Farbe": ("rot", "blau")},
        ),
        ('<select name="id"><option>Small / Red</option><option>Large / Red</option></select>', {}),
        (
            '<form action="/cart/add"><select name="id"><option>Small / Red</option>'
            "<option>Large / Red</option></select></form>",
            {"variant": ("Small / Red", "Large / Red")},
        ),
        (
            '<form action="/cart/add"><select name="id"><option>Default Title</option></select>'
            "</form>",
            {},
        ),
        ('<select name="quantity"><option>1</option><option>2</option></select>', {}),
        ('<select name="size"><option>1</option><option>2</option><option>3</option></select>', {}),
        ('<select name="country"><option>Chad</option></select>', {}),
        ('<select name="sort_option"><option>Price</option></select>', {}),
        ('<header><select name="color"><option>Red</option></select></header>', {}),
        ('<select name="x[1][y]"><option>Red</option></select>', {}),
        ("<select><option>Red</option></select>", {}),
    ],
)
def test_options_in_select_elements(select: str, groups: dict[str, tuple[str, ...]]) -> None:
    assert shown_options(parse(select)) == groups
