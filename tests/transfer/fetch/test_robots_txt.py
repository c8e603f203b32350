"""robots.txt after RFC 9309."""

import time

import pytest

from errands.transfer.fetch.robots_txt import read_robots


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /private", "/private/x", False),
        ("Disallow: /private", "/public", True),
        ("Disallow:", "/x", True),
        ("Disallow: /*?k=", "/s?k=shoe", False),
        ("Disallow: /*?k=", "/s?q=shoe", True),
        ("Disallow: /*/cart", "/en/cart/1", False),
        ("Disallow: /*.html$", "/x.html", False),
        ("Disallow: /*.html$", "/x.html?y", True),
        ("Disallow: /s$", "/s?k=shoe", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /\nAllow: /s", "/s?k=shoe", True),
        ("Disallow: /\nAllow: /s", "/dp/1", False),
        ("Disallow: /page\nAllow: /page", "/page", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Disallow: /caf%c3%a9", "/café", False),
        ("Disallow: /%7Ejoe", "/~joe", False),
        ("Disallow: /a%2fb", "/a/b", True),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /x # a remark", "/x", False),
    ],
)
def test_rules(rules: str, path: str, allowed: bool) -> None:
    held = read_robots(f"User-agent: *\n{rules}\n", "errands")
    assert held.allows(f"https://shop.example{path}") == allowed


def test_a_robot_obeys_its_own_groups_or_else_those_of_all() -> None:
    text = (
        "Disallow: /before\nUser-Agent: other\nUser-agent: Errands/1.0\nDisallow: /mine\n"
        "User-agent: *\nDisallow: /\nCrawl-delay: 3\n\nuser-agent: errands\nCrawl-delay: 1.5\n"
        "Disallow: /more\n"
    )
    mine, others = read_robots(text, "errands"), read_robots(text, "stranger")
    assert [rule for _, rule in mine.rules] == ["/mine", "/more"]
    assert (mine.delay, others.delay) == (1.5, 3)
    assert mine.allows("https://shop.example/x")
    assert not others.allows("https://shop.example/x")
    assert read_robots("", "errands").allows("https://shop.example/x")
    assert read_robots("\x00\ud800:\n:::\nUser-agent\nCrawl-delay: x", "errands").delay == 0


def test_many_stars_do_not_cost_hours() -> None:
    held = read_robots("User-agent: *\nDisallow: /" + "*a" * 5_000 + "$", "errands")
    begun = time.process_time()
    assert held.allows("https://shop.example/" + "a" * 4_000 + "b")
    assert time.process_time() - begun < 1
