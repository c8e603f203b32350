"""A page of results made of submissions: prose from a template, every figure from a file.

A template is Markdown with fields in double braces, each on a line of its own or in a sentence:

    {{ table shop-demo: random, rule, careful }}       a table, with the command and what is played
    {{ figure shop-demo rule r_type }}                 one figure: score, success, steps or a part
    {{ made }}                                         when and with which version it was made
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from errands.leaderboard.submission import SubmissionError, SubmittedRun
from errands.reports.formatting import DASH, fixed
from errands.reports.statistics.estimate import Estimate
from errands.runs.protocol import Protocol, find_protocol

__all__ = ["WantedRun", "fill", "wanted_runs"]

_FIELD: Final = re.compile(r"\{\{ *+(\w++)([^{}]*+)\}\}")
_ABSENT: Final = "not played"


class WantedRun(NamedTuple):
    """A run that a template asks for."""

    protocol: str
    agent: str


def wanted_runs(template: str) -> list[WantedRun]:
    """The runs that a template's tables ask for, each once."""
    found: dict[WantedRun, None] = {}
    for field, words in _FIELD.findall(template):
        if field == "table":
            protocol, agents = _table_words(words)
            found |= dict.fromkeys(WantedRun(protocol, agent) for agent in agents)
    return list(found)


def _table_words(words: str) -> tuple[str, list[str]]:
    words = words.strip(" ")
    protocol, colon, agents = words.partition(":")
    listed = [agent.strip() for agent in agents.split(",") if agent.strip()]
    if not colon or not listed:
        raise SubmissionError(f"table {words}: expected PROTOCOL: AGENT, AGENT, ...")
    return protocol.strip(), listed


def fill(template: str, runs: Sequence[SubmittedRun]) -> str:
    """The page. A run that is missing is named as such; one of an earlier version of its protocol
    says so."""
    best = _newest(runs)
    makers: dict[str, Callable[[str], str]] = {
        "table": lambda words: "\n".join(_table(*_table_words(words), best)),
        "figure": lambda words: _figure(words.split(), best),
        "made": lambda words: _made(list(best.values())),
    }

    def filled(match: re.Match[str]) -> str:
        field, words = match.groups()
        if field not in makers:
            raise SubmissionError(f"{match[0]}: expected {', '.join(makers)}.")
        return makers[field](words)

    return _FIELD.sub(filled, template)


def _newest(runs: Sequence[SubmittedRun]) -> dict[WantedRun, SubmittedRun]:
    """The submission of each run: of the highest version of its protocol, the latest."""
    ordered = sorted(runs, key=lambda run: (int(run.protocol["version"]), run.started))
    return {WantedRun(str(run.protocol["id"]), run.agent.agent): run for run in ordered}


def _made(runs: Sequence[SubmittedRun]) -> str:
    if not runs:
        return _ABSENT
    days = sorted({run.started[:10] for run in runs})
    versions = sorted({run.versions.get("errands", "?") for run in runs})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{when}, errands {' and '.join(versions)}"


def _figure(words: Sequence[str], best: dict[WantedRun, SubmittedRun]) -> str:
    if len(words) != 3:
        raise SubmissionError(f"figure {' '.join(words)}: expected PROTOCOL AGENT NAME.")
    run = best.get(WantedRun(words[0], words[1]))
    if run is None:
        return _ABSENT
    name, figures = words[2], run.figures
    if name in ("score", "success"):
        mean = getattr(figures, name).mean
        return DASH if mean is None else fixed(mean)
    if name == "steps":
        return fixed(figures.steps)
    if name in figures.parts:
        mean = figures.parts[name].mean
        return DASH if mean is None else fixed(mean, 2)
    raise SubmissionError(
        f"figure {' '.join(words)}: expected score, success, steps or one of"
        f" {', '.join(figures.parts) or 'none'}."
    )


def _table(name: str, agents: Sequence[str], best: dict[WantedRun, SubmittedRun]) -> Iterator[str]:
    protocol = find_protocol(name)
    rows = [(agent, best.get(WantedRun(name, agent))) for agent in agents]
    played = _played(protocol, [run for _, run in rows if run is not None])
    yield f"`errands run {name} --agent AGENT`: {played}"
    yield ""
    shop = protocol.domain == "shop"
    heads = ["Task Score", "Success Rate"] if shop else ["paper's rules", "released rules"]
    heads += ["steps"] if shop else ["mean over fields, paper's rules"]
    yield f"| agent | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    for agent, run in rows:
        cells = [_ABSENT, "", ""] if run is None else _shop(run) if shop else _forms(run)
        yield f"| {_called(agent, run, protocol)} | {' | '.join(cells)} |"


def _played(protocol: Protocol, runs: Sequence[SubmittedRun]) -> str:
    facts = [f"version {protocol.version}; {protocol.title}"]
    if runs:
        counts = sorted({len(run.episodes) for run in runs})
        facts.append(f"{' or '.join(f'{number:,}' for number in counts)} episodes")
    if protocol.max_steps is not None:
        facts.append(f"{protocol.max_steps} steps")
    text = "; ".join(facts)
    if protocol.warning:
        text += f". **{protocol.warning[0].upper()}{protocol.warning[1:]}**"
    absent = dict.fromkeys(remark for run in runs for remark in run.remarks)
    absent.pop(protocol.warning, None)
    return " ".join([f"{text}.", *(f"{remark[0].upper()}{remark[1:]}." for remark in absent)])


def _called(agent: str, run: SubmittedRun | None, protocol: Protocol) -> str:
    if run is None:
        return agent
    notes = ["shown the answers"] if run.agent.privileged else []
    if run.protocol["version"] != protocol.version:
        notes.append(f"of version {run.protocol['version']}, not remade since")
    if run.figures.errors:
        notes.append(f"{run.figures.errors} errors")
    return f"{agent} ({'; '.join(notes)})" if notes else agent


def _shop(run: SubmittedRun) -> list[str]:
    figures = run.figures
    return [_shown(figures.score), _shown(figures.success, " %"), fixed(figures.steps)]


def _forms(run: SubmittedRun) -> list[str]:
    rules = run.figures.rules
    return [
        _shown(rules["paper"]["tasks"]),
        _shown(rules["released"]["tasks"]),
        _shown(rules["paper"]["fields"]),
    ]


def _shown(figure: Estimate, unit: str = "") -> str:
    if figure.mean is None or figure.low is None or figure.high is None:
        return DASH
    return f"{fixed(figure.mean)}{unit} ({fixed(figure.low)}-{fixed(figure.high)})"
