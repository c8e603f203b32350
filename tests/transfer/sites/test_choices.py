"""Options that are buttons, and the many buttons that are none."""

import pytest

from errands.transfer.sites.choices import shown_choices
from errands.transfer.sites.markup import parse


@pytest.mark.parametrize(
    ("page", "options"),
    [
        (
            '<ul class="swatch size"><li>S</li><li>M - Sold out</li><li>L</li></ul>',
            {"size": ("S", "M", "L")},
        ),
        (
            '<div class="colorsRow"><a href="#"><img alt="Red"></a><a href="#"><img alt="Sea"></a>',
            {"color": ("Red", "Sea")},
        ),
        (
            "<form><input type=radio name=size id=a><label for=a>38</label>"
            "<label><input type=radio name=size value=2> 39</label></form>",
            {"size": ("38", "39")},
        ),
        ('<ul class="size-guide-list"><li>EU</li><li>US</li></ul>', {}),
        ('<footer><ul class="swatch color"><li>Red</li><li>Blue</li></ul></footer>', {}),
        ('<div class="related"><ul class="swatch size"><li>S</li><li>M</li></ul></div>', {}),
        ('<ul class="size-list"><li>1</li><li>2</li><li>3</li></ul>', {}),
        ('<ul class="color-list"><li>$5.00</li><li>$6.00</li></ul>', {}),
        ("<input type=radio name=payment value=a><input type=radio name=payment value=b>", {}),
    ],
)
def test_choices(page: str, options: dict[str, tuple[str, ...]]) -> None:
    assert shown_choices(parse(page)) == options
