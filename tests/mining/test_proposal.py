"""What the built-in filter proposes, and why."""

import pytest

from errands.mining.candidates import Candidates
from errands.mining.proposal import DROP, USES, Surroundings, propose

AROUND = Surroundings(
    kinds=frozenset({"mug", "tabl"}),
    brands=frozenset({"skalane"}),
    voices={"secret formula": 0.9, "solid wood": 0.3},
    longer={"vinyl acetate": "ethylene vinyl acetate"},
    crossing={"sleeve striped": "full sleeve"},
    makers=frozenset({"united blue"}),
    labels=frozenset({"style code"}),
    labelled=frozenset({"fabric cotton"}),
    everywhere=frozenset({"free spirit", "muted tones"}),
    nearly_all=frozenset({"free spirit"}),
    names=frozenset({"curved trough"}),
    loose=frozenset({"pattern shoulder"}),
)


@pytest.mark.parametrize(
    ("phrase", "use"),
    [
        ("dry skin", "good for"),
        ("living room", "good for"),
        ("birthday party", "good for"),
        ("toddler girls", "good for"),
        ("rubber sole", "has"),
        ("solid wood", "has"),
        ("usb port", "has"),
        ("easy clean", "which is"),
        ("gluten free", "which is"),
        ("machine washable", "which is"),
        ("non slip", "which is"),
        ("slip resistant", "which is"),
        ("coffee mug", "is a"),
        ("coffee tables", "is a"),
        ("tables women", "is a"),
        ("polo shirts", "is a"),
    ],
)
def test_uses(phrase: str, use: str) -> None:
    assert propose(phrase, AROUND).use == use


@pytest.mark.parametrize(
    ("phrase", "reason"),
    [
        # The paper's own examples of what to filter out.
        ("oz ml", "measures something: oz"),
        ("men women", "a list of people"),
        ("hair color", "not specific: color"),
        ("12oz bottle", "measures something: 12oz"),
        ("series b2c345", "a number or a code"),
        ("customer service", "about the sale"),
        ("perfect fit", "praise says nothing: perfect"),
        ("skalane mug", "the name of a brand"),
        ("wash washing", "the same word twice"),
        ("black white", "a list of colours"),
        ("provides comfort", "a piece of a sentence: provides"),
        ("skin feels", "a piece of a sentence: feels"),
        ("secret formula", "only one brand says it"),
        ("vinyl acetate", "part of a longer phrase: ethylene vinyl acetate"),
        ("sleeve striped", "goes on from another phrase"),
        ("united blue", "the name of a brand"),
        ("style code", "what a specification is called"),
        ("fabric cotton", "what a specification is called, and what it says"),
        ("free spirit", "nearly all products say it"),
        ("muted tones", "a large part of all products say it"),
        # Names, and words that only meet.
        ("curved trough", "a name that titles begin with"),
        ("pattern shoulder", "its words meet by chance"),
        ("expertly crafted", "how it was done"),
        ("resin cute", "an adjective of something else"),
        ("brightens lobby", "a piece of a sentence: brightens"),
        ("moisturizes skin", "a piece of a sentence: moisturizes"),
        ("qx lamina", "a number or a code"),
        ("stay dry", "a piece of a sentence: stay"),
        ("feeling fresh", "a piece of a sentence: feeling"),
        ("creating depth", "a piece of a sentence: creating"),
        ("timeless elegance", "what sellers praise"),
        ("gently clean", "how it is done: gently"),
        ("eau de", "a piece of a sentence: de"),
        ("embroidered women", "a piece of a title"),
        ("modern rustic", "two adjectives of something"),
    ],
)
def test_reasons_to_drop(phrase: str, reason: str) -> None:
    made = propose(phrase, AROUND)
    assert made.use == DROP
    assert reason.split(":")[0] in made.reason


def test_one_and_three_words() -> None:
    assert propose("waterproof", AROUND).use == "which is"
    assert propose("very dry skin", AROUND).use == "good for"


def test_what_the_products_around_tell() -> None:
    records = [
        {
            "name": f"Zorblat mug {n}",
            "query": "Mugs & Cups",
            "product_category": "Home › Tea › Pots",
        }
        for n in range(4)
    ]
    held = [[("zorblat", "mug"), ("ethylene", "vinyl", "acetate")] for _ in records]
    where = {"vinyl acetate": [0, 1, 2, 3], "rare thing": [0]}
    around = Surroundings.of(records, held, where)
    assert {"mug", "cup", "pot"} <= around.kinds
    assert around.brands == {"zorblat"}
    # What all products begin with is nobody's voice.
    assert around.voices == {"vinyl acetate": 0.0}
    others = [{"name": f"{maker} pot"} for maker in ("Ax", "Bo", "Cu", "Du", "Ex")]
    voices = Surroundings.of([*records, *others], [*held, *[[]] * 5], where).voices
    assert voices == {"vinyl acetate": 1.0}
    assert around.longer == {"vinyl acetate": "ethylene vinyl acetate"}


def test_every_candidate_has_a_use_and_a_reason(mined: Candidates) -> None:
    proposed = {one.proposal.use for one in mined.candidates}
    assert proposed == {*USES, DROP}
    assert all(one.proposal.reason for one in mined.candidates)


def test_what_specifications_and_brands_tell() -> None:
    records = [
        {
            "name": f"Zor top {n}",
            "query": "tops",
            "brand": "Zor by Hill",
            "small_description": [f"Style Code: Z{n}", "Fabric: cotton lycra", "Easy to clean: just"
                                  " wipe it with a damp cloth and leave it to dry for an hour"],
        }
        for n in range(5)
    ]  # fmt: skip
    around = Surroundings.of(records, [[]] * 5, {})
    assert around.labels == {"style code", "fabric"}
    assert "fabric cotton" in around.labelled
    # A heading of a sentence is worth asking for.
    assert "easy clean" not in around.labels
    assert "zor hill" in around.makers


def test_a_phrase_that_takes_a_word_each_of_two_others() -> None:
    texts = [[("full", "sleeve", "striped", "top")]] * 3 + [[("full", "sleeve")]] * 9
    where = {"full sleeve": list(range(12)), "sleeve striped": [0, 1, 2]}
    around = Surroundings.of([{"name": "x"}] * 12, texts, where)
    assert around.crossing == {"sleeve striped": "full sleeve"}


def test_what_nearly_all_say_tells_nothing_in_a_shop_of_some_size() -> None:
    records = [{"name": f"x {n}"} for n in range(50)]
    where = {
        "soft touch": list(range(30)),
        "dry hair": list(range(10)),
        "made here": list(range(45)),
    }
    around = Surroundings.of(records, [[]] * 50, where)
    assert around.everywhere == {"soft touch", "made here"}
    assert around.nearly_all == {"made here"}
    small = {"soft touch": list(range(20))}
    assert Surroundings.of(records[:30], [[]] * 30, small).everywhere == frozenset()


def test_names_are_what_titles_begin_with_and_nobody_writes_small() -> None:
    records = [
        {"name": "Zorble Curved Trough", "brand": "Zorble", "full_description": "A Curved Trough."},
        {"name": "Curved Trough Tray", "full_description": "For the Curved Trough."},
        {"name": "Cold Pressed Oil", "full_description": "It is cold-pressed."},
        {"name": "Oil", "full_description": "Our Curved Trough holds cold pressed oil."},
    ]
    where = {"curved trough": [0, 1, 3], "cold pressed": [2, 3]}
    assert Surroundings.of(records, [[]] * 4, where).names == {"curved trough"}


def test_words_of_titles_that_meet_by_chance() -> None:
    titles = ["Plaid pattern shoulder bag"] * 3 + ["Pattern tote"] * 30 + ["Shoulder bag"] * 30
    titles += ["Top handle bag"] * 4
    records = [{"name": title} for title in titles]
    texts = [[tuple(title.lower().split())] for title in titles]
    where = {"pattern shoulder": [0, 1, 2], "top handle": [63, 64, 65, 66]}
    assert Surroundings.of(records, texts, where).loose == {"pattern shoulder"}


def test_words_that_stand_alone() -> None:
    assert propose("rechargeable", AROUND).use == "which is"
    assert propose("rechargeable", AROUND).rank == 0


def test_what_people_hardly_say_has_a_rank() -> None:
    assert propose("rubber sole", AROUND).rank == 0
    assert propose("muted gold", AROUND).rank == 1
    assert propose("zorblat mode", AROUND).rank == 2
