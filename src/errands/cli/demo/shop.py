"""`errands demo shop`: one episode that a person can follow, page by page."""

import json
import shlex
from collections.abc import Collection, Mapping
from typing import Any

import gymnasium
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from errands.agents.careful import CarefulShopper
from errands.cli.output import program, remarks
from errands.envs.shop import ShopEnv
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import BUILT_IN, DEMO, demo_folder

__all__ = ["watch_shopping"]

_GOAL = 5
_STEPS = 15
_NODES = 33

stage = Console(highlight=False)


def watch_shopping(catalog: str, goals: str | None, goal: int | None) -> None:
    """Show every page, every action, and the reward explained."""
    if catalog in BUILT_IN and not demo_folder(catalog).exists():
        remarks.print("Making the demo catalogue (once; it is kept) ...")
    with remarks.status("opening the catalogue"):
        opened = Catalog.open(catalog)
        goals = goals or ("human" if opened.manifest.goals.get("human") else "synthetic")
        count = len(opened.goals(goals))
    if not count:
        raise SettingError(
            f"{opened.path} has no {goals} goals to shop for; `errands catalog goals {catalog}"
            " --generate 100 --out goals.json` writes some, and --goals goals.json takes them."
        )
    goal = min(_GOAL, count - 1) if goal is None else goal
    env = gymnasium.make("errands/Shop-v0", catalog=opened, goals=goals, max_steps=_STEPS)
    shop = env.unwrapped
    assert isinstance(shop, ShopEnv)
    agent = CarefulShopper()
    observation, info = env.reset(options={"goal": goal})
    stage.print(f"A shop with {len(opened):,} products. Somebody says:")
    stage.print(Panel(escape(info["instruction"]), border_style="cyan"))
    agent.begin(observation, info)
    over = False
    step = 0
    reward = 0.0
    query = ""
    while not over:
        _show_page(observation, info, shop.episode.page.options.values())
        action = agent.act(observation, info)
        step += 1
        if action.startswith("search["):
            query = query or action[len("search[") : -1]
        stage.print(f"[bold]{step}. {escape(action)}[/bold]  [dim]({escape(agent.reason)})[/dim]\n")
        observation, given, terminated, truncated, info = env.step(action)
        reward = float(given)
        over = terminated or truncated
    if "reward_parts" in info:
        _explain(shop, reward, info["reward_parts"])
    else:
        stage.print(f"Nothing was bought in {_STEPS} steps: the reward is 0.")
    _suggest(catalog, goals, (goal + 1) % count, query)


def _show_page(observation: str, info: Mapping[str, Any], chosen: Collection[str]) -> None:
    """The page as a short list; what can be clicked is in brackets."""
    clickable = set(info["available_actions"]["clickables"])
    nodes = observation.split(" [SEP] ")
    shown = [f"[{node}]" if node.lower() in clickable else node for node in nodes]
    shown = [f"{node} <- chosen" if node[1:-1] in chosen else node for node in shown]
    # The instruction stands above already.
    body = [node for node in shown if node not in ("Instruction:", info["instruction"])]
    rest = len(body) - _NODES
    lines = [*body[:_NODES], *([f"... and {rest} more"] if rest > 0 else [])]
    stage.print(Panel(escape("\n".join(lines)), border_style="dim", title="page"))


def _explain(shop: ShopEnv, reward: float, parts: Mapping[str, Any]) -> None:
    goal, episode = shop.goal, shop.episode
    product = episode.page.product
    assert product is not None
    wanted = goal.goal_options
    options = list(wanted.values()) if isinstance(wanted, dict) else list(wanted)
    price = episode.context.goals.price(product)
    reasons = [
        f"{parts['title_score']:.0%} of the target's nouns",
        "same search term" if parts["query_match"] else "",
        "same category" if parts["category_match"] else "",
    ]
    why = ", ".join(filter(None, reasons))
    rows = [
        ("type", goal.name, product.title, f"{parts['r_type']:.2f} ({why})"),
        (
            "attributes",
            ", ".join(goal.attributes),
            ", ".join(product.attributes),
            _weighed(parts, "att"),
        ),
        ("price", f"up to ${goal.price_upper:,.2f}", f"${price:,.2f}", _weighed(parts, "price")),
    ]
    if "r_option" in parts:
        chosen = ", ".join(episode.page.options.values()) or "nothing chosen"
        rows.insert(2, ("options", ", ".join(options), chosen, _weighed(parts, "option")))
    table = Table("part", "wanted", "bought", "part's value", title="The reward, part by part")
    for row in rows:
        table.add_row(*map(escape, row))
    stage.print(table)
    stage.print(f"[bold]Reward: {reward:.4f}[/bold] = type x the weighted sum of the others.\n")


def _weighed(parts: Mapping[str, Any], name: str) -> str:
    return f"{float(parts[f'r_{name}']):.2f} (weight {parts[f'w_{name}']:.2f})"


def _suggest(catalog: str, goals: str, goal: int, query: str) -> None:
    """Commands and lines of Python that go on with this catalogue and these goals."""
    is_demo = catalog == DEMO
    name = shlex.quote(catalog)
    place = "" if is_demo else f" --data {name}"
    stage.print("What to try next:")
    for command, why in (
        (f"demo{place} --goals {shlex.quote(goals)} --goal {goal}", "another errand"),
        (f"search {name} {shlex.quote(query)} -k 5", "ask the search engine"),
        (f"catalog info {name}", "what the shop holds"),
        (f"bench shop{place}", "how fast it is on this machine"),
        *((("data", "how to get the original WebShop data"),) if is_demo else ()),
    ):
        line = Text.assemble("  ", (f"{program()} {command}", "bold"), f"  # {why}")
        stage.print(line, soft_wrap=True)
    named = "" if is_demo else f", catalog={json.dumps(catalog)}"
    lines = (
        "In Python:",
        "import errands, gymnasium",
        f'env = gymnasium.make("errands/Shop-v0", goals={json.dumps(goals)}{named})',
        "observation, info = env.reset(seed=0)",
    )
    stage.print(Text("\n".join(lines)), soft_wrap=True)
