"""Nothing of the goal but its instruction leaves the server before the purchase."""

import random
import re
from typing import Any

import msgspec
import pytest
from served import Served, served

from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals

PAGES = ("description", "features", "reviews", "attributes")


def twin_goals(catalog: Catalog, which: int) -> ListedGoals:
    """Goals that differ from their twins' in everything but the words."""
    stored = catalog.goals("synthetic")
    goals = [
        msgspec.structs.replace(
            stored[place + 50 * which], instruction_text=f"something nice {place}"
        )
        for place in range(5)
    ]
    return ListedGoals("twins", goals, lambda product: product.price)


def exchange(server: Served, path: str, body: Any) -> bytes:
    """The whole answer as it comes, head and body."""
    status, headers, answer = server.raw(path, body)
    return f"{status} {sorted(headers.items())}\n".encode() + answer


@pytest.mark.parametrize("mode", ["text", "text_rich", "html", "url"])
def test_twins_answer_alike_until_the_purchase(little: Catalog, mode: str) -> None:
    dice = random.Random(mode)
    words = little.product_at(0).title.replace("[", " ").replace("]", " ")
    with (
        served(little, goals=twin_goals(little, 0)) as one,
        served(little, goals=twin_goals(little, 1)) as other,
    ):
        pairs = [(server, server.create(observation=mode)) for server in (one, other)]
        calls: list[tuple[str, Any]] = []
        for place in range(5):
            calls.append(("reset", {"options": {"goal": place}}))
            calls += [("step", {"action": f"search[{words}]"})] * 2
            for _ in range(20):
                clicks = (*PAGES, "next >", "< prev", "back to search")
                asin = little.product_at(dice.randrange(300)).asin.lower()
                click = f"click[{dice.choice([*clicks, asin])}]"
                action = dice.choice(["search[lamp]", "search[shirt]", "nonsense", "", click])
                calls.append(("step", {"action": action}))
            calls.append(("reset", {"options": {"goal": 99}}))
        found = little.search(words)[0].asin.lower()
        calls += [
            ("reset", {"options": {"goal": 0}}),
            ("step", {"action": f"search[{words}]"}),
            ("step", {"action": f"click[{found}]"}),
        ]
        for do, body in calls:
            answers = [
                exchange(server, f"/v1/sessions/{session}/{do}", body) for server, session in pairs
            ]
            assert answers[0] == answers[1]
        bought = [server.step(session, "click[buy now]")[1] for server, session in pairs]
        assert all(answer["terminated"] for answer in bought)
        assert bought[0]["info"]["reward_parts"] != bought[1]["info"]["reward_parts"]


def test_about_and_metrics_name_no_goal_and_no_path(little: Catalog) -> None:
    with served(little, goals=twin_goals(little, 0)) as server:
        server.reset(server.create())
        for path in ("/v1", "/metrics", "/openapi.json", "/health", "/ready"):
            shown = server.raw(path)[2].decode()
            assert str(little.path) not in shown
            assert not re.search(r"B0[0-9A-Z]{8}", shown)
