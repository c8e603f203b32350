"""A verification as markup, and as one HTML file that needs nothing else."""

from pathlib import Path
from typing import Final

from errands.errors import DataError
from errands.reports.html.markup import cut, esc, table
from errands.reports.html.page import style_sheet
from errands.reports.wording import count, dash, share
from errands.verify.scores import PARTS
from errands.verify.verification import Example, Verification

__all__ = ["NOTE", "summary_line", "verification_body", "write_verification_page"]

NOTE: Final = (
    "Means are points of 100; options over the goals that want some. Within 10 %: a first score"
    " that differs from the second by at most a tenth of it. No correlation where a scorer never"
    " varies."
)


def summary_line(held: Verification) -> str:
    """How much was scored, and what was not."""
    said = f"{count(held.trajectories, 'trajectory', 'trajectories')}: {held.bought:,} bought"
    if held.out_of_steps:
        said += f", {held.out_of_steps:,} bought nothing (0 for every scorer)"
    if held.failed:
        said += f"; {count(held.failed, 'failed episode')} left out"
    return f"{said}."


def verification_body(held: Verification) -> str:
    """The tables and the examples; everything from outside is escaped."""
    rows = [
        [esc(name), *(dash(parts[part]) for part in PARTS)] for name, parts in held.means.items()
    ]
    agreed = []
    for pair in held.agreements:
        name = f"{esc(pair.first)} and {esc(pair.second)}"
        parts = pair.parts
        agreed += [
            [f"{name}: Pearson", *(dash(parts[part].pearson, 3) for part in PARTS)],
            [f"{name}: within 10 %", *(share(parts[part].near) for part in PARTS)],
            [f"{name}: equal", *(f"{parts[part].equal:,}" for part in PARTS)],
            [f"{name}: the second is lower", *(f"{parts[part].below:,}" for part in PARTS)],
        ]
    counted = ", ".join(f"{number:,} for {part}s" for part, number in held.counted.items())
    said = f"<p>Synonyms that counted: {counted}.</p>" if counted else ""
    examples = "".join(_example(one) for one in held.examples)
    apart = f"<section><h2>Where they differ most</h2>{examples}</section>" if examples else ""
    return (
        f"<section><h2>Scores</h2><p>{esc(summary_line(held))}</p>"
        f"{table(['scorer', *PARTS], rows, 'Mean scores')}"
        f"{table(['agreement', *PARTS], agreed, 'How they agree')}{said}"
        f'<p class="note">{NOTE}</p></section>{apart}'
    )


def _example(one: Example) -> str:
    scores = ", ".join(f"{esc(name)} {held.overall:.2f}" for name, held in one.scores.items())
    told = "".join(
        f"<li>{credit.part}: “{esc(cut(credit.found, 120))}” ({esc(credit.place)}) counted for"
        f" “{esc(cut(credit.wanted, 120))}”</li>"
        for credit in one.credits
    )
    because = f"<ul>{told}</ul>" if told else ""
    return (
        f'<article class="card differs"><h3>Episode {one.episode} ({esc(one.key)}): {scores}</h3>'
        f"<p>{esc(cut(one.instruction, 600))}</p>"
        f"<p><b>Bought:</b> {esc(cut(one.bought, 300)) or 'nothing'}</p>{because}</article>"
    )


def write_verification_page(held: Verification, path: Path, *, replace: bool = False) -> None:
    """The same as a file, in one piece or not at all."""
    title = f"Reward verification: {held.agent}"
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{esc(title)} - Errands</title>\n<style>\n{style_sheet()}\n"
        ".differs { margin-bottom: 18px; }\n.differs > * + * { margin-top: 8px; }\n"
        ".differs ul { padding-left: 20px; }\n</style>\n</head>\n<body>\n"
        f'<header class="top"><div class="inner"><p class="brand">Errands</p><h1>{esc(title)}</h1>'
        f"<p>{esc(held.protocol)}; second scorer: {esc(held.rules)}</p></div></header>\n"
        f"<main>{verification_body(held)}</main>\n</body>\n</html>\n"
    )
    if path.exists() and not replace:
        raise DataError(f"{path} exists already; --force replaces it.")
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)
    except OSError as failure:
        beside.unlink(missing_ok=True)
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None
