"""Currencies as prices are written in them: their signs, their cents, and what countries use.

Data and look-ups only; `errands.prices` reads prices with them. Checked against CLDR (Babel) once,
which is no dependency: ten megabytes for the few lines that are used here.
"""

import re
from typing import Final, NamedTuple

__all__ = [
    "CODES", "EVERYDAY_WORDS", "NO_HABITS", "SIGNS", "UNKNOWN", "Habits", "cent_digits", "code_of",
    "decimal_mark", "habits_of",
]  # fmt: skip

CODES: Final = frozenset(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN
    BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS
    GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW
    KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN
    NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK
    SGD SHP SLE SOS SRD STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES
    VND VUV WST XAF XCD XOF XPF YER ZAR ZMW
    """.split()
)
"""The currencies of ISO 4217 that people pay in."""

EVERYDAY_WORDS: Final = frozenset(
    "ALL AMD ANG BAM BIF BOB COP CUP DOP GEL LAK MAD MOP NAD PEN RON SOS TOP TRY".split()
)
"""Codes that also stand before numbers as words do: `TRY 5`, `AMD 5600`."""

_DOLLARS: Final = (
    "USD CAD AUD NZD MXN ARS CLP COP UYU SGD HKD TWD BRL DOP JMD TTD BBD BSD BZD XCD FJD NAD"
)
SIGNS: Final[dict[str, tuple[str, ...]]] = {
    sign: tuple(codes.split())
    for sign, codes in {
        "$": _DOLLARS, "US$": "USD", "US $": "USD", "U$S": "USD", "USD$": "USD",
        "C$": "CAD NIO", "C $": "CAD", "CA$": "CAD", "CA $": "CAD", "CDN$": "CAD",
        "A$": "AUD", "AU$": "AUD", "AU $": "AUD", "NZ$": "NZD", "MX$": "MXN", "AR$": "ARS",
        "CLP$": "CLP", "COL$": "COP", "CO$": "COP", "$U": "UYU", "S$": "SGD", "SG$": "SGD",
        "HK$": "HKD", "NT$": "TWD", "R$": "BRL", "RD$": "DOP", "J$": "JMD", "TT$": "TTD",
        "€": "EUR", "euro": "EUR", "euros": "EUR", "£": "GBP EGP LBP GIP", "₤": "GBP",
        "¥": "JPY CNY", "JP¥": "JPY", "CN¥": "CNY", "RMB": "CNY", "円": "JPY", "元": "CNY TWD HKD",
        "₩": "KRW", "원": "KRW", "₫": "VND", "đ": "VND", "vnđ": "VND", "Rp": "IDR", "RM": "MYR",
        "฿": "THB", "บาท": "THB", "₱": "PHP", "Php": "PHP", "₹": "INR", "Rs": "INR PKR LKR NPR MUR",
        "₨": "PKR INR LKR NPR MUR", "৳": "BDT", "Tk": "BDT", "रु": "INR NPR",
        "Kč": "CZK", "Ft": "HUF", "zł": "PLN", "zl": "PLN", "lei": "RON MDL", "лв": "BGN",
        "kr": "SEK NOK DKK ISK", "kn": "HRK", "din": "RSD", "дин": "RSD", "ден": "MKD",
        "Fr": "CHF", "SFr": "CHF", "₽": "RUB", "руб": "RUB BYN", "р": "RUB BYN", "рублей": "RUB",
        "RUR": "RUB", "NTD": "TWD",
        "₴": "UAH", "грн": "UAH", "₸": "KZT", "тг": "KZT", "₼": "AZN", "₾": "GEL", "֏": "AMD",
        "сум": "UZS", "₺": "TRY", "TL": "TRY", "₪": "ILS", "NIS": "ILS", "﷼": "SAR IRR YER OMR QAR",
        "ريال": "SAR OMR QAR YER IRR", "ر.س": "SAR", "SR": "SAR", "د.إ": "AED", "درهم": "AED MAD",
        "Dhs": "AED", "Dh": "AED MAD", "د.ك": "KWD", "KD": "KWD", "د.ب": "BHD", "ر.ع": "OMR",
        "د.ا": "JOD", "JD": "JOD", "ج.م": "EGP", "LE": "EGP", "د.ت": "TND", "DT": "TND",
        "د.م": "MAD", "DA": "DZD", "د.ج": "DZD", "تومان": "IRR", "₦": "NGN", "₵": "GHS",
        "GH₵": "GHS", "KSh": "KES", "TSh": "TZS", "USh": "UGX", "R": "ZAR", "FCFA": "XOF XAF",
        "CFA": "XOF XAF", "S/": "PEN", "S/.": "PEN", "Bs": "BOB VES", "₲": "PYG", "Gs": "PYG",
        "₡": "CRC", "B/": "PAB", "៛": "KHR", "₭": "LAK", "₮": "MNT", "MOP$": "MOP",
    }.items()
}  # fmt: skip
"""Signs with what they may stand for; the first is what they do where nobody says more."""

_WHOLE: Final = frozenset(
    "BIF CLP DJF GNF IQD IRR ISK JPY KMF KRW LAK PYG RWF UGX VND VUV XAF XOF XPF".split()
)
_THOUSANDTHS: Final = frozenset("BHD JOD KWD LYD OMR TND".split())
_POINT: Final = frozenset(
    """
    AED AUD BBD BDT BHD BSD BWP BZD CAD CNY DOP EGP ETB FJD GBP GHS GTQ HKD HNL ILS INR JMD JOD
    JPY KES KRW KWD LKR MMK MOP MXN MYR NGN NIO NPR NZD OMR PAB PEN PHP PKR QAR SAR SGD THB TTD TWD
    TZS UGX USD XCD ZMW
    """.split()
)


class Habits(NamedTuple):
    """How prices are written somewhere: what tells apart what a text alone leaves open."""

    currency: str = ""
    """What a sign of many currencies stands for, as `$`, `kr` or `¥`."""
    decimal: str = ""
    """The mark before the cents; empty where nobody knows."""


NO_HABITS: Final = Habits()
UNKNOWN: Final = "XXX"
"""What a sign of many countries is where it cannot be told of which, as `$` in Spanish."""
_MANY_COUNTRIES: Final = {"es": Habits(UNKNOWN, ","), "zh": Habits(UNKNOWN, ".")}
"""Languages of shops with different dollars."""

_COUNTRIES: Final = {
    country: code
    for code, countries in {
        "EUR": "AT BE CY DE EE ES FI FR GR HR IE IT LT LU LV MT NL PT SI SK BG",
        "USD": "US EC PR SV", "GBP": "GB UK", "CHF": "CH LI", "JPY": "JP", "CNY": "CN",
        "KRW": "KR", "VND": "VN",
        "IDR": "ID", "INR": "IN", "PKR": "PK", "LKR": "LK", "NPR": "NP", "BDT": "BD", "MYR": "MY",
        "SGD": "SG", "THB": "TH", "PHP": "PH", "HKD": "HK", "TWD": "TW", "CAD": "CA", "AUD": "AU",
        "NZD": "NZ", "MXN": "MX", "ARS": "AR", "CLP": "CL", "COP": "CO", "PEN": "PE", "UYU": "UY",
        "BRL": "BR", "BOB": "BO", "PYG": "PY", "VES": "VE", "CRC": "CR", "DOP": "DO", "GTQ": "GT",
        "HNL": "HN", "NIO": "NI", "PAB": "PA", "SEK": "SE", "NOK": "NO", "DKK": "DK", "ISK": "IS",
        "PLN": "PL", "CZK": "CZ", "HUF": "HU", "RON": "RO", "MDL": "MD", "RSD": "RS", "RUB": "RU",
        "BYN": "BY", "UAH": "UA", "KZT": "KZ", "GEL": "GE", "AMD": "AM", "AZN": "AZ", "TRY": "TR",
        "ILS": "IL", "SAR": "SA", "AED": "AE", "KWD": "KW", "BHD": "BH", "OMR": "OM", "QAR": "QA",
        "JOD": "JO", "EGP": "EG", "MAD": "MA", "TND": "TN", "DZD": "DZ", "LBP": "LB", "NGN": "NG",
        "GHS": "GH", "KES": "KE", "TZS": "TZ", "UGX": "UG", "ZAR": "ZA", "JMD": "JM", "TTD": "TT",
    }.items()
    for country in countries.split()
}  # fmt: skip
_HOME: Final = {
    "cs": "CZ", "da": "DK", "de": "DE", "el": "GR", "et": "EE", "fi": "FI", "fr": "FR", "he": "IL",
    "hu": "HU", "id": "ID", "is": "IS", "it": "IT", "ja": "JP", "kk": "KZ", "ko": "KR", "lt": "LT",
    "lv": "LV", "ms": "MY", "nb": "NO", "nl": "NL", "nn": "NO", "no": "NO", "pl": "PL", "ro": "RO",
    "ru": "RU", "sk": "SK", "sl": "SI", "sv": "SE", "th": "TH", "tr": "TR", "uk": "UA", "vi": "VN",
}  # fmt: skip
"""Languages that are spoken in one country above all: their currency may be guessed."""
_COMMA_LANGUAGES: Final = frozenset(
    "bg ca cs da de el et eu fi fr gl hr hu id is it kk lt lv nb nl nn no pl pt ro ru sk sl sr sv"
    " tr uk vi".split()
)
_POINT_LANGUAGES: Final = frozenset("en zh ja ko th he hi bn ms ta te ur ne si my km mt".split())
_LOCALE: Final = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z]{4})?(?:[-_]([A-Za-z]{2})\b)?")


def habits_of(locale: str) -> Habits:
    """How prices are written by a locale, as pages name theirs: `de-AT`, `es_AR`, `en`.

    >>> habits_of("es-AR"), habits_of("es_MX"), habits_of("en"), habits_of("x")
    (Habits(currency='ARS', decimal=','), Habits(currency='MXN', decimal='.'), \
Habits(currency='', decimal='.'), Habits(currency='', decimal=''))
    """
    found = _LOCALE.match(locale.strip())
    if found is None:
        return NO_HABITS
    if not found[2] and found[1].lower() in _MANY_COUNTRIES:
        return _MANY_COUNTRIES[found[1].lower()]
    language, country = found[1].lower(), (found[2] or "").upper()
    currency = _COUNTRIES.get(country or _HOME.get(language, ""), "")
    if currency == "CHF":
        return Habits(currency, "," if language == "fr" else ".")
    usual = decimal_mark(currency)
    if language in _COMMA_LANGUAGES:
        usual = ","
    elif language in _POINT_LANGUAGES:
        # Who writes English in Berlin may write numbers in either way.
        usual = "." if usual != "," else ""
    return Habits(currency, usual)


def code_of(sign: str, habits: Habits = NO_HABITS) -> str:
    """The currency that a sign or a code stands for; empty where it is none.

    >>> code_of("$"), code_of("kr", Habits("DKK")), code_of("chf"), code_of("?")
    ('USD', 'DKK', 'CHF', '')
    """
    spelt = sign.strip()
    codes = SIGNS.get(spelt) or _FOLDED.get(spelt.rstrip(".:").casefold(), ())
    if not codes and spelt.upper() in CODES:
        return spelt.upper()
    if habits.currency == UNKNOWN and len(codes) > 1:
        return UNKNOWN
    if habits.currency in codes:
        return habits.currency
    return codes[0] if codes else ""


_FOLDED: Final = {sign.casefold(): codes for sign, codes in SIGNS.items()}


def cent_digits(currency: str) -> int:
    """How many digits a price may have behind its decimal mark."""
    return 0 if currency in _WHOLE else 3 if currency in _THOUSANDTHS else 2


def decimal_mark(currency: str) -> str:
    """The mark before the cents where that currency is at home; empty for one that is not known."""
    if currency not in CODES:
        return ""
    return "." if currency in _POINT else ","
