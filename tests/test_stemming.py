"""The stemmer against answers of Lucene's PorterStemFilter, and against NLTK where it is there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.stemming import lucene_stem

RECORDED = """
caresses:caress ponies:poni ties:ti caress:caress cats:cat feed:feed agreed:agre plastered:plaster
bled:bled motoring:motor sing:sing conflated:conflat troubled:troubl sized:size hopping:hop
tanned:tan falling:fall hissing:hiss fizzed:fizz failing:fail filing:file happy:happi sky:sky
relational:relat conditional:condit rational:ration valenci:valenc hesitanci:hesit digitizer:digit
conformabli:conform radicalli:radic differentli:differ vileli:vile analogousli:analog
vietnamization:vietnam predication:predic operator:oper feudalism:feudal decisiveness:decis
hopefulness:hope callousness:callous formaliti:formal sensitiviti:sensit sensibiliti:sensibl
triplicate:triplic formative:form formalize:formal electriciti:electr electrical:electr
hopeful:hope goodness:good revival:reviv allowance:allow inference:infer airliner:airlin
gyroscopic:gyroscop adjustable:adjust defensible:defens irritant:irrit replacement:replac
adjustment:adjust dependent:depend adoption:adopt homologou:homolog communism:commun
activate:activ angulariti:angular homologous:homolog effective:effect bowdlerize:bowdler
probate:probat rate:rate cease:ceas controll:control roll:roll leggings:leg easily:easili
analogies:analog dies:di ies:i s:s ed:ed ing:ing yed:yed saying:sai syzygy:syzygi yy:yy oed:o
possibly:possibl technology:technolog logi:logi eli:eli bli:bli ion:ion ation:ation
wireless:wireless accessories:accessori batteries:batteri moisturizing:moistur shoes:shoe
women:women bottles:bottl sleeveless:sleeveless 10ing:10ing 3s:3s waterproofing:waterproof
generalizations:gener oscillators:oscil naïvely:naïv ééing:ééing αing:αing αβγed:αβγed ñoños:ñoño
"""

ENDINGS = (
    "s es ed ing ies sses eed at bl iz y ational tional enci izer bli alli entli eli ousli ization"
    " ation ator alism iveness aliti biliti logi icate ative alize iciti ical ful ness al ance er"
    " ic able ant ement ment ent ion ou ism ate iti ous ive ize e l ll"
)


def test_recorded_answers_of_lucene() -> None:
    for pair in RECORDED.split():
        word, expected = pair.split(":")
        assert lucene_stem(word) == expected, word


@pytest.mark.parametrize("word", ["", "a", "ed", "is"])
def test_short_words_stay(word: str) -> None:
    assert lucene_stem(word) == word


words = st.builds(
    "".join,
    st.tuples(
        st.text("abcdefghijklmnopqrstuvwxyzaeiouyé1", max_size=6),
        st.sampled_from(ENDINGS.split()),
        st.sampled_from(["", *ENDINGS.split()]),
    ),
)


@settings(deadline=None)
@given(words)
def test_same_as_nltk(word: str) -> None:
    porter = pytest.importorskip("nltk.stem.porter")
    reference = porter.PorterStemmer(mode=porter.PorterStemmer.MARTIN_EXTENSIONS)
    assert lucene_stem(word) == reference.stem(word)


@settings(deadline=None)
@given(st.text(max_size=12))
def test_a_stem_is_never_longer_nor_empty(word: str) -> None:
    assert len(lucene_stem(word)) <= len(word)
    assert bool(lucene_stem(word)) == bool(word)
