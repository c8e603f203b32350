"""Which commands there are: the panels of `errands --help`, their modules, their former names."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["COMMANDS", "FORMER", "PANELS", "CommandEntry", "new_name"]


class CommandEntry(NamedTuple):
    """A command in the list of all."""

    module: str
    """Below this package; its `app` has the command, or is the group of that name."""
    summary: str
    """One line of the list: sixty characters at most."""


PANELS: Final[Mapping[str, Mapping[str, CommandEntry]]] = {
    "Start": {
        "demo": CommandEntry(
            "demo.commands", "Watch an agent shop or fill in a form; tour the baselines."
        ),
    },
    "Evaluate": {
        "run": CommandEntry("run", "Play an agent or a model under a protocol; keep every step."),
        "report": CommandEntry(
            "report.commands", "Compare runs on one page; look at an episode, a training."
        ),
        "replay": CommandEntry("report.replay", "Prove that a run's episodes come back the same."),
        "export": CommandEntry(
            "report.export", "Write a run as JSONL, Parquet, or chats to fine-tune on."
        ),
        "submit": CommandEntry(
            "leaderboard.commands", "Pack a run into one file for a leaderboard."
        ),
        "leaderboard": CommandEntry(
            "leaderboard.commands", "Replay submissions, rank them, write a site."
        ),
        "protocols": CommandEntry("run", "List what can be played, and by which rules."),
        "agents": CommandEntry("run", "List the agents, and what can be set."),
    },
    "Data": {
        "data": CommandEntry("data", "Get the original data of WebShop or TurkingBench."),
        "catalog": CommandEntry(
            "catalog.commands", "Build, generate, check and export catalogues."
        ),
        "search": CommandEntry("search", "Search a catalogue's products."),
        "mine": CommandEntry("mine.commands", "Make a shop of your own products: CSV, TSV, JSON."),
        "turk": CommandEntry(
            "turk.conditions", "Form pages: inspect tasks, score a file of answers."
        ),
        "crowd": CommandEntry(
            "crowd.commands", "Export what people wrote and did on your website."
        ),
    },
    "Train": {
        "train": CommandEntry("train.commands", "Train agents: imitation, search, reinforcement."),
    },
    "Serve": {
        "serve": CommandEntry("serve", "Serve the shop, crowd work, runs, or environments."),
        "mcp": CommandEntry("mcp", "Serve episodes as tools to clients of MCP."),
    },
    "Research": {
        "experiment": CommandEntry(
            "experiment.commands", "Reproduce the paper's tables, and other studies."
        ),
        "transfer": CommandEntry(
            "transfer.commands", "Let agents shop in real shops, over their pages."
        ),
        "verify-reward": CommandEntry(
            "verify_reward", "Score a run's purchases by other rules, or by hand."
        ),
        "bench": CommandEntry("bench", "Measure speed and memory on this machine."),
    },
}

COMMANDS: Final[Mapping[str, CommandEntry]] = {
    name: entry for entries in PANELS.values() for name, entry in entries.items()
}

FORMER: Final[Mapping[str, str]] = {
    "tour": "demo tour",
    "turk demo": "demo turk",
    "turk play": "run turk",
    "train report": "report",
    "instructions": "crowd",
    "instructions info": "crowd info",
    "instructions export": "crowd export instructions",
    "demonstrations": "crowd",
    "demonstrations info": "crowd info",
    "demonstrations export": "crowd export demonstrations",
    "demonstrations import-logs": "crowd import-logs",
    "nouns": "catalog nouns",
    "nouns tag": "catalog nouns",
    "nouns study": "experiment nouns",
}
"""What commands were called before, with today's names."""


def new_name(words: Sequence[str]) -> tuple[str, str] | None:
    """The former name that a command line begins with, if it does, and today's."""
    for former in (" ".join(words[:2]), " ".join(words[:1])):
        if former in FORMER:
            return former, FORMER[former]
    return None
