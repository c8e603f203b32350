"""The formats that shops and data sets come in, read without a map: little tables of our own."""

# ruff: noqa: E501  (tables have long lines)
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from errands.mining.product_file import PICTURE, ProductFile

SHOPIFY = """\
Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,Option2 Value,Variant SKU,Variant Price,Variant Compare At Price,Image Src,Variant Image,Gift Card
rain-coat,Harbour Rain Coat,<p>Water resistant.</p>,Salt Road,Womens,coats,true,Color,Navy,Size,S,R1,80.00,99.00,https://a.example/1.jpg,https://a.example/navy.jpg,false
rain-coat,,,,,,,,Navy,,M,R2,84.00,,https://a.example/2.jpg,https://a.example/navy.jpg,
rain-coat,,,,,,,,Sand,,S,R3,80.00,,,https://a.example/sand.jpg,
rain-coat,,,,,,,,,,,,,,https://a.example/3.jpg,,
mug,Tin Mug,Easy to clean.,Salt Road,Outdoor,mugs,true,Title,Default Title,,,M1,9.50,,https://a.example/m.jpg,,false
"""

WOOCOMMERCE = """\
ID,Type,SKU,Name,Published,Short description,Description,Sale price,Regular price,Categories,Images,Parent,Attribute 1 name,Attribute 1 value(s),Attribute 1 visible,Attribute 2 name,Attribute 2 value(s)
10,variable,tee,Plain Tee,1,,"Soft cotton, machine washable.",,,"Clothing > Tees, Clothing > Sale","https://a.example/t.jpg, https://a.example/t2.jpg",,Color,"Blue, Red",1,Size,"L, M"
11,variation,tee-b,Plain Tee - Blue,1,,,12,18,,https://a.example/b.jpg,tee,Color,Blue,,Size,L
12,variation,tee-r,Plain Tee - Red,1,,,,18,,https://a.example/r.jpg,tee,Color,Red,,Size,M
20,variable,,Wool Cap,1,,Warm wool.,,,Clothing > Caps,https://a.example/c.jpg,,Color,"Grey, Green",1,,
21,variation,,Wool Cap - Grey,1,,,,22,,,id:20,Color,Grey,,,
22,variation,,Wool Cap - Green,1,,,,25,,,id:20,Color,Green,,,
30,simple,belt,Belt,1,,Solid leather.,,30,Clothing > Belts,https://a.example/belt.jpg,,Color,Brown,1,,
"""

WIX = """\
handleId,fieldType,name,description,productImageUrl,collection,sku,price,surcharge,productOptionName1,productOptionType1,productOptionDescription1,brand
p-1,Product,Tin Lantern,<p>Rust proof.</p>,0a1b2c_0123456789abcdef0123456789abcdef~mv2.jpg;0a1b2c_f123456789abcdef0123456789abcdef~mv2.png,Lanterns;Garden,,20,,Finish,COLOR,#000000:Black;#ffffff:White,Hollow Oak
p-1,Variant,,,,,L-B,,0,,,Black,
p-1,Variant,,,,,L-W,,4.50,,,White,
p-2,Product,Iron Stool,Easy to carry.,https://a.example/stool.jpg,Hollow Oak,C1,9,,,,,Hollow Oak
"""

SQUARESPACE = """\
Product ID [Non Editable],Product URL,Title,Description,SKU,Option Name 1,Option Value 1,Price,Sale Price,Categories,Hosted Image URLs
a1,mug,Clay Mug,Hand thrown.,M-S,Size,Small,12.00,0.00,/mugs,https://a.example/1.jpg https://a.example/2.jpg
"""

FEED = """<?xml version="1.0"?>
<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>
<item><g:id>k1</g:id><g:item_group_id>kite</g:item_group_id><title>Sky Kite - Red</title>
<g:price>1.299,00 EUR</g:price><g:sale_price>999,00 EUR</g:sale_price><g:color>Red</g:color>
<g:image_link>https://a.example/red.jpg</g:image_link><g:shipping><g:price>5 EUR</g:price></g:shipping>
<g:google_product_category>Toys &amp; Games &gt; Toys &gt; Kites</g:google_product_category></item>
<item><g:id>k2</g:id><g:item_group_id>kite</g:item_group_id><title>Sky Kite - Blue</title>
<g:price>1.299,00 EUR</g:price><g:color>Blue</g:color>
<g:image_link>https://a.example/blue.jpg</g:image_link></item>
<item><g:id>p1</g:id><title>Clay Pot</title><g:price>9,00 EUR</g:price></item>
</channel></rss>"""

TSV = """id\titem_group_id\ttitle\tprice\tcolor\timage_link
k1\tkite\tSky Kite - Red\t10.00 USD\tRed\thttps://a.example/red.jpg
k2\tkite\tSky Kite - Blue\t12.00 USD\tBlue\thttps://a.example/blue.jpg
"""

API = {
    "products": [
        {
            "id": 7, "title": "Field Bag", "handle": "field-bag", "body_html": "<p>Waxed canvas.</p>",
            "vendor": "Salt Road", "product_type": "", "tags": "bags, new",
            "variants": [
                {"id": 71, "title": "Moss", "option1": "Moss", "price": "50.00"},
                {"id": 72, "title": "Khaki", "option1": "Khaki", "price": "55.00"},
            ],
            "options": [{"name": "Color", "position": 1, "values": ["Moss", "Khaki"]}],
            "images": [{"id": 1, "src": "https://a.example/bag.jpg"}],
        }
    ]
}  # fmt: skip

GRAPHQL = [
    {
        "node": {
            "id": "gid://shop/1",
            "title": "Field Bag",
            "priceRange": {"minVariantPrice": {"amount": "50.0", "currencyCode": "USD"}},
            "images": {"edges": [{"node": {"url": "https://a.example/bag.jpg"}}]},
            "variants": {
                "edges": [
                    {"node": {"title": c, "price": {"amount": "50.0"},
                              "selectedOptions": [{"name": "Color", "value": c}]}}
                    for c in ("Moss", "Khaki")
                ]
            },
        }
    }
]  # fmt: skip


def _items(path: Path) -> tuple[list[dict[str, Any]], ProductFile]:
    file = ProductFile(path)
    return list(file.items()), file


def _written(tmp_path: Path, name: str, data: Any) -> Path:
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def _values(item: dict[str, Any]) -> dict[str, list[str]]:
    options = item["customization_options"] or {}
    return {name: [one["value"] for one in values] for name, values in options.items()}


def test_shopifys_export(tmp_path: Path) -> None:
    (coat, mug), file = _items(_written(tmp_path, "a.csv", SHOPIFY))
    assert (file.taken.rows, file.taken.products, file.taken.variants) == (5, 2, 3)
    assert coat["name"] == "Harbour Rain Coat"
    assert coat["pricing"] == "$80.00 - $84.00"
    assert _values(coat) == {"color": ["Navy", "Sand"], "size": ["S", "M"]}
    assert coat["customization_options"]["color"][1]["image"] is None
    assert coat["images"][0] == "https://a.example/1.jpg"
    assert {"https://a.example/3.jpg", "https://a.example/sand.jpg"} <= set(coat["images"])
    # "Womens" is no kind of thing, and "Default Title" no choice.
    assert (coat["query"], mug["query"]) == ("rain coats", "tin mugs")
    assert mug["customization_options"] == ""
    assert coat["brand"] == "Salt Road"


def test_woocommerces_export(tmp_path: Path) -> None:
    (tee, cap, belt), file = _items(_written(tmp_path, "a.csv", WOOCOMMERCE))
    assert file.taken.variants == 4
    assert (tee["asin"], tee["name"], tee["query"]) == ("TEE", "Plain Tee", "tees")
    assert tee["pricing"] == "$12.00 - $18.00"
    assert _values(tee) == {"color": ["Blue", "Red"], "size": ["L", "M"]}
    assert [one["image"] for one in tee["customization_options"]["color"]] == [
        "https://a.example/b.jpg",
        "https://a.example/r.jpg",
    ]
    assert tee["product_category"] == "Clothing › Tees"
    # A parent without a number of its own is named by its place.
    assert (cap["pricing"], _values(cap)) == ("$22.00 - $25.00", {"color": ["Grey", "Green"]})
    assert (belt["pricing"], _values(belt)) == ("$30.00", {"color": ["Brown"]})


def test_wixs_export(tmp_path: Path) -> None:
    (lantern, stool), file = _items(_written(tmp_path, "a.csv", WIX))
    assert (file.taken.products, file.taken.variants) == (2, 2)
    # What variants cost is told beside the product's price.
    assert (lantern["pricing"], stool["pricing"]) == ("$20.00 - $24.50", "$9.00")
    assert _values(lantern) == {"finish": ["Black", "White"]}
    assert lantern["images"] == [
        "https://static.wixstatic.com/media/0a1b2c_0123456789abcdef0123456789abcdef~mv2.jpg",
        "https://static.wixstatic.com/media/0a1b2c_f123456789abcdef0123456789abcdef~mv2.png",
    ]
    assert stool["images"] == ["https://a.example/stool.jpg"]
    # The maker's collection is no kind of thing.
    assert (lantern["query"], stool["query"]) == ("lanterns", "iron stools")
    assert lantern["product_category"] == "Lanterns › Garden"


def test_squarespaces_export(tmp_path: Path) -> None:
    (mug,), _ = _items(_written(tmp_path, "a.csv", SQUARESPACE))
    assert (mug["pricing"], _values(mug)) == ("$12.00", {"size": ["Small"]})
    assert len(mug["images"]) == 2


def test_names_of_columns_and_numbers_as_data_frames_write_them(tmp_path: Path) -> None:
    text = "ProductName,Price (INR),Weight (kg)\nTin Mug,2.790000000000000e+01,1\n"
    (mug,), file = _items(_written(tmp_path, "a.csv", text))
    assert (mug["pricing"], file.map.columns["price"]) == ("$27.90", ("Price (INR)",))


@pytest.mark.parametrize(("name", "data"), [("a.xml", FEED), ("a.tsv", TSV)])
def test_googles_merchants(tmp_path: Path, name: str, data: str) -> None:
    items, file = _items(_written(tmp_path, name, data))
    kite = items[0]
    assert file.taken.variants == 1
    assert (kite["asin"], kite["name"]) == ("KITE", "Sky Kite")
    assert kite["query"] == ("kites" if name == "a.xml" else "sky kites")
    assert kite["pricing"] == ("$999.00 - $1299.00" if name == "a.xml" else "$10.00 - $12.00")
    assert kite["customization_options"]["color"] == [
        {"value": "Red", "image": "https://a.example/red.jpg"},
        {"value": "Blue", "image": "https://a.example/blue.jpg"},
    ]


@pytest.mark.parametrize("data", [API, API["products"], GRAPHQL])
def test_shopifys_json(tmp_path: Path, data: Any) -> None:
    (bag,), _ = _items(_written(tmp_path, "a.json", data))
    assert _values(bag) == {"color": ["Moss", "Khaki"]}
    assert bag["pricing"] == ("$50.00" if data is GRAPHQL else "$50.00 - $55.00")
    assert bag["images"] == ["https://a.example/bag.jpg"]
    assert bag["query"] == "field bags"


def test_flipkarts_data_set(tmp_path: Path) -> None:
    rows = [
        {
            "uniq_id": "u1",
            "product_name": "Zor Solid Women's Cycling Shorts",
            "product_category_tree": "[\"Clothing >> Women's Clothing >> Shorts >> Zor Shorts >> Zor"
            " Solid Women's Cycling Sho...\"]",
            "retail_price": "999",
            "discounted_price": "379",
            "image": '["http://a.example/1.jpeg", "http://a.example/2.jpeg"]',
            "description": "Key features of Zor shorts",
            "brand": "Zor",
            "product_specifications": '{"product_specification"=>[{"key"=>"Fabric", "value"=>"Cotton'
            ' Lycra"}, {"value"=>"Gentle wash"}]}',
        }
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (shorts,), _ = _items(_written(tmp_path, "a.csv", text.getvalue()))
    assert shorts["pricing"] == "$379.00"
    assert shorts["query"] == "women's shorts"
    assert shorts["product_category"] == "Clothing › Women's Clothing › Shorts › Zor Shorts"
    assert shorts["images"] == ["http://a.example/1.jpeg", "http://a.example/2.jpeg"]
    assert shorts["small_description"] == ["Fabric: Cotton Lycra", "Gentle wash"]


AMAZON = [
    # As sold in India: prices in rupees, a path without spaces.
    {"product_id": "B1", "product_name": "Ampa Braided USB Cable for iPhone", "category":
     "Computers&Accessories|Cables|USBCables", "discounted_price": "₹399", "actual_price": "₹1,099",
     "about_product": "Fast charging|Nylon braided", "img_link": "https://a.example/1.jpg"},
    # A crawl of the shop, with lists as Python prints them.
    {"asin": "B2", "title": "Ampa USB Cable", "categories": "['Electronics', 'Cables']",
     "price": "$4.99", "feature": "['Fast charging']", "imageURL": "['https://a.example/1.jpg']"},
    # One with columns that are empty throughout.
    {"Uniq Id": "u3", "Asin": "", "Product Name": "Ampa USB Cable", "Category":
     "Electronics | Cables", "List Price": "", "Selling Price": "$4.99",
     "About Product": "Fast charging | Long", "Image": "https://a.example/1.jpg|https://a.example/2"},
]  # fmt: skip


@pytest.mark.parametrize("row", AMAZON)
def test_amazons_data_sets(tmp_path: Path, row: dict[str, str]) -> None:
    (cable,), _ = _items(_written(tmp_path, "a.json", [row]))
    assert cable["query"].endswith("cables")
    assert cable["pricing"] in ("$399.00", "$4.99")
    assert cable["images"][0] == "https://a.example/1.jpg"
    assert cable["category"] in ("Computers&Accessories", "Electronics")


def test_best_buys_products(tmp_path: Path) -> None:
    row = {
        "sku": 43900, "name": "Volt - AA Batteries (4-Pack)", "type": "HardGood", "price": 5.49,
        "category": [{"id": "c1", "name": "Connected Home"}, {"id": "c2", "name": "Household Batteries"}],
        "manufacturer": "Volt", "description": "Long lasting", "image": "http://a.example/1.jpg",
    }  # fmt: skip
    (made,), file = _items(_written(tmp_path, "a.json", [row]))
    assert (made["asin"], made["pricing"], made["brand"]) == ("43900", "$5.49", "Volt")
    assert made["product_category"] == "Connected Home › Household Batteries"
    assert made["query"] == "batteries"
    assert "query" not in file.map.columns
    search = {"name": "Volt - AA Batteries", "type": "HardGood", "salePrice": 4, "regularPrice": 5,
              "objectID": "9", "categories": ["Batteries"], "image": "http://a.example/1.jpg"}  # fmt: skip
    (made,), _ = _items(_written(tmp_path, "b.json", [search]))
    assert (made["pricing"], made["query"], made["asin"]) == ("$4.00", "batteries", "9")


def test_open_food_facts(tmp_path: Path) -> None:
    text = (
        "code\tproduct_name\tbrands\tcategories\tcategories_en\tmain_category_en\timage_url\n"
        "0001\tOat Cookies\tZor\ten:snacks\tSnacks,Sweet snacks,Cookies\tSnacks\thttps://a.example/1.jpg\n"
        "0002\t\t\t\t\t\t\n"
    )
    (cookies,), file = _items(_written(tmp_path, "a.csv", text))
    assert (cookies["query"], cookies["category"]) == ("cookies", "Snacks")
    assert cookies["product_category"] == "Snacks › Sweet snacks › Cookies"
    assert file.taken.dropped == {"no title": 1}
    assert file.taken.remarks["no price: 100 dollars assumed"] == 1


def test_any_table_with_an_id_that_comes_again(tmp_path: Path) -> None:
    text = (
        "product_id,variant_sku,name,color,unit_price,image\n"
        "P1,P1-R,Desk Lamp - Red,Red,10,https://a.example/r.jpg\n"
        "P2,P2,Chair,,30,\n"
        "P1,P1-B,Desk Lamp - Blue,Blue,12,https://a.example/b.jpg\n"
        "P1,P1-X,Another thing,,5,\n"
    )
    items, file = _items(_written(tmp_path, "a.csv", text))
    chair, lamp = items
    assert (lamp["name"], lamp["pricing"]) == ("Desk Lamp", "$10.00 - $12.00")
    assert _values(lamp) == {"color": ["Red", "Blue"]}
    assert lamp["images"] == ["https://a.example/r.jpg", "https://a.example/b.jpg"]
    assert chair["images"] == [PICTURE]
    assert file.taken.variants == 1
    # What is called otherwise is no variant.
    assert file.taken.dropped == {"id was there before": 1}


@pytest.mark.parametrize(
    "cell",
    [
        '[{"name": "Color", "values": ["Red", "Blue"]}]',
        '[{"name": "Color", "value": "Red"}, {"name": "color", "value": "Blue"}]',
        '[{"name": "Color", "variations": ["Red", "Blue"]}]',
        '[{"color": "Red", "price": 3}, {"color": "Blue", "price": 4}]',
        '[{"sku": "a", "attributes": {"color": "Red"}}, {"sku": "b", "attributes": {"color": "Blue"}}]',
        "{'color': ['Red', 'Blue']}",
    ],
)
def test_options_given_as_json(tmp_path: Path, cell: str) -> None:
    row = {"title": "Mug", "price": 3, "options": cell}
    for data in ([row], [{**row, "options": json.loads(cell) if '"' in cell else cell}]):
        (mug,), _ = _items(_written(tmp_path, "a.json", data))
        assert _values(mug) == {"color": ["Red", "Blue"]}


def test_addresses_are_no_options(tmp_path: Path) -> None:
    row = {"title": "Mug", "price": 3, "variants": "https://a.example/1;https://a.example/2"}
    (mug,), _ = _items(_written(tmp_path, "a.json", [row]))
    assert mug["customization_options"] == ""


def test_what_a_column_of_other_attributes_says(tmp_path: Path) -> None:
    said = '[{"name": "Material", "value": "Wood"}, {"name": "Style", "value": "Rustic"}]'
    row = {"product_name": "Wall Clock", "final_price": 9, "other_attributes": said}
    (clock,), _ = _items(_written(tmp_path, "a.json", [row]))
    assert clock["small_description"] == ["Material: Wood", "Style: Rustic"]
