"""What kind of thing a product is."""

import pytest

from errands.mining.kinds import MinedKind, TitleNouns, narrow_names

ALONE = TitleNouns()


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Alisha Solid Women's Cycling Shorts", "women's cycling shorts"),
        ("Sanus - Premium Full-Motion Wall Mount for Most TVs - Black", "wall mounts"),
        ("Inalsa Electric Fan Heater Hotty - 2000 Watts", "fan heaters"),
        ("Set of 6 Mugs, Blue", "mugs"),
        ("Badge of Honour Classic Tee (Large)", "tees"),
        ("Jar of Hope", "jars"),
        ("Pigeon by Stovekraft Amaze Electric Kettle (14289) with Steel Body", "kettles"),
        ("Insulated Tumbler (20oz)", "tumblers"),
        ("Analog Watch - For Boys", "boys' analog watches"),
        ("Smart Watch for Men Women and Kids", "watches"),
        ("Gilmore Girls Unisex Mug", "mugs"),
        ("Herbal Green Tea", "tea"),
        ("Chef's Knife", "knife"),
        ("Himmlisch ST381 Magnetic Sun Shade for Alto", "sun shades"),
        ("Yellow watering can", "can"),
    ],
)
def test_the_noun_that_a_title_comes_down_to(title: str, kind: str) -> None:
    made = ALONE.kind_of(title, [])
    assert made == MinedKind(kind, True)


def _kind(title: str, path: list[str], **more: str) -> str:
    made = ALONE.kind_of(title, narrow_names(path, title, more.get("brand", "")), **more)
    return "" if made is None else made.text


def test_a_category_counts_where_the_title_says_it() -> None:
    assert _kind("Orpat Room Heater", ["Home&Kitchen", "RoomHeaters"]) == "room heaters"
    assert _kind("Canvas Runner Shoe", ["Footwear", "Casual Shoes"]) == "shoes"
    assert _kind("Fab Double Sofa Bed", ["Furniture", "Sofa Beds & Futons"]) == "sofa beds"
    # Only what the product says before the noun is asked for: else a search finds others.
    assert _kind("Lightning Cable", ["Data Cables"]) == "cables"
    assert _kind("Lightning Cable", ["Data Cables"], text="A data cable") == "data cables"
    assert _kind("Optical Mouse", ["Mice"]) == "mouse"


def test_a_category_that_the_title_does_not_say_comes_later() -> None:
    made = ALONE.kind_of("Moon Cycle", narrow_names(["Womens"], "Moon Cycle"), tags=["shirts"])
    assert made == MinedKind("shirts", False)
    assert _kind("Nova 7 Pro", ["Electronics", "Smartphones"]) == "smartphones"
    assert _kind("Guaranteed", [], text="A t-shirt that is soft.") == "t-shirts"
    assert ALONE.kind_of("", []) is None
    assert ALONE.kind_of("100 % (2)", []) is None


def test_names_leave_out_the_maker_and_the_product() -> None:
    title = "Zor Solid Women's Cycling Shorts"
    path = [
        "Clothing",
        "Women's Clothing",
        "Shorts",
        "Zor Shorts",
        "Zor Solid Women's Cycling Sho...",
    ]
    assert narrow_names(path, title, "Zor")[:2] == ["shorts", "women's clothing"]
    assert narrow_names(["Petals Dresses"], "Petals Girl's Dress") == ["dresses"]
    assert narrow_names(["kitchen-accessories", "USBCables", "mens-watches"], "x") == [
        "men's watches",
        "usb cables",
        "kitchen accessories",
    ]
    # A word that the title has is one word.
    assert narrow_names(["MacBooks"], "Apple MacBook Air") == ["macbooks"]
    # A sign at its end is no noun.
    assert narrow_names(["Toys –", "*", "Mugs + *"], "x") == ["mugs", "toys"]
    assert _kind("Zor Widget", ["Toys –"]) == "toys"


def test_what_several_makers_say_is_a_kind() -> None:
    titles = [(f"{maker} {word} Bellies", "") for maker in ("Aw", "Bo", "Ci") for word in ("Red",)]
    nouns = TitleNouns([*titles, ("Dun Mumble", "")])
    assert nouns.kind_of("Zed Bellies", []) == MinedKind("bellies", True)
    pairs = TitleNouns([("Aw Quilted Zip Jacket", ""), ("Bo Quilted Zip Jacket", "")])
    made = pairs.kind_of("Ci Zip Jacket", [])
    assert made == MinedKind("zip jackets", True)


def test_hostile_titles_cost_little() -> None:
    for title in ("a " * 200_000, "-" * 200_000, "for " * 100_000, "'" * 100_000):
        ALONE.kind_of(title, [title[:400]])
        narrow_names([title], title, title)


def test_a_noun_that_belongs_to_a_participle_is_no_kind() -> None:
    assert _kind("Golden Wolf Acid Washed", []) == "wolf"
    assert _kind("Zor Tank Top Printed", []) == "tank tops"


def test_a_text_that_says_a_title_in_full() -> None:
    title = "Mens Navy Golden Wolf Oversized Acid Washed"
    text = "Buy Zor Men's Navy Golden Wolf Oversized Acid Washed T-Shirt for less."
    assert _kind(title, [], text=text) == "men's t-shirts"


def test_of_a_category_of_several_kinds_a_product_must_say_which() -> None:
    path = ["Food", "Flour, Oil & Salt"]
    shared = {"flour", "oil", "salt"}

    def made(title: str) -> MinedKind | None:
        return ALONE.kind_of(title, narrow_names(path, title), shared=shared)

    assert made("Sea Salt") == MinedKind("salt", True)
    assert made("Whole Cumin") == MinedKind("cumins", True)


def test_no_noun_twice_and_no_maker() -> None:
    nouns = TitleNouns([("Aw Foam Pad Grip Pad", ""), ("Bo Foam Pad Grip Pad", "")])
    made = nouns.kind_of("Zor Foam Pad Grip Pad", [])
    assert made == MinedKind("grip pads", True)
    assert narrow_names(["Zor", "Pads"], "Zor 7 inch Pad", "Zor") == ["pads"]
