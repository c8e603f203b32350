"""`errands verify-reward`: a run's purchases scored again, by other rules and by hand."""

from contextlib import closing
from pathlib import Path

import typer

from errands.cli.output import Json, print_json, progress_bar, remarks, results, table
from errands.errors import SettingError
from errands.reports.formatting import count, dash, share
from errands.runs.store.places import open_run
from errands.shop.rewards.registry import rules_named
from errands.verify.export import write_export
from errands.verify.hand_scores import LONGEST_NAME
from errands.verify.judges import JudgeAgreement, read_judges
from errands.verify.page import (
    NOTE,
    kappa_text,
    needed_lines,
    same_text,
    summary_line,
    write_verification_page,
)
from errands.verify.scores import PARTS
from errands.verify.verification import FIRST, HAND, Material, Verification, verify

__all__ = ["app"]


app = typer.Typer()


@app.command("verify-reward")
def verify_reward(
    run: str = typer.Argument(help="The directory of a run of the shop, or its address."),
    rules: str = typer.Option("synonym", help="The second scorer: synonym, paper, or your own."),
    hand: list[Path] = typer.Option(
        [],
        metavar="FILE.jsonl",
        help="Scores by hand: compare on those episodes. Several times: one for each judge. With"
        " --web: where to keep them (default: hand-scores.jsonl beside the run).",
    ),
    judge: str = typer.Option(
        "",
        metavar="NAME",
        help="With --web: who scores; kept with every score (default: hand-scores-NAME.jsonl).",
    ),
    interval: float | None = typer.Option(
        None,
        metavar="HALF",
        help="Tell how many judgements are needed for an interval of this half width (0.05: 5"
        " points either way).",
    ),
    export: Path | None = typer.Option(
        None, metavar="FILE", help="Write what was judged: FILE.csv or FILE.jsonl. Needs --hand."
    ),
    web: bool = typer.Option(False, "--web", help="Serve the page for scoring by hand."),
    sample: int = typer.Option(
        100, min=1, help="With --web: how many purchases a person is to score."
    ),
    seed: int = typer.Option(0, min=0, help="With --web: which purchases, and their order."),
    port: int = typer.Option(8000, min=0, max=65535, help="With --web; 0 takes a free one."),
    out: Path | None = typer.Option(None, metavar="PAGE.html", help="Write it as a page, too."),
    force: bool = typer.Option(False, "--force", help="Replace a page that exists."),
    examples: int = typer.Option(5, min=0, help="How many of the greatest differences to tell."),
    as_json: bool = Json,
) -> None:
    """Verify a run's rewards as the paper's appendix A.7 does: released rules and a second scorer.

    Every purchase is scored again by the released rules and by others, `synonym` unless you say
    otherwise (which needs the extra synonyms); the table has the means of each part, Pearson's
    correlation and the share within 10 %. With --hand, a third scorer is a person. --web serves
    the page on which a person scores: blind, until the last purchase of the sample is scored;
    every score is kept at once. With several --hand, how two judges agree is told, and what they
    see differently; --interval says how many more judgements a figure needs; --export writes what
    was judged. See docs/explanation/reward-verification.md.

    Examples:

    \b
      errands verify-reward runs/rule
      errands verify-reward runs/rule --out verified.html
      errands verify-reward runs/rule --web --sample 50
      errands verify-reward runs/rule --hand runs/rule/hand-scores.jsonl --json
      errands verify-reward runs/rule --web --judge ann
      errands verify-reward runs/rule --hand ann.jsonl --hand bob.jsonl --interval 0.05
      errands verify-reward runs/rule --hand ann.jsonl --hand bob.jsonl --export judged.csv
    """
    if web and (as_json or out is not None or export is not None):
        raise SettingError(
            "--web serves pages; --json, --out and --export go with the table, without it."
        )
    if web and len(hand) > 1:
        raise SettingError("--web keeps the scores of one judge; name one file with --hand.")
    if judge and not web:
        raise SettingError("--judge says who scores on the page; it goes with --web.")
    if export is not None and not hand:
        raise SettingError("--export writes what people judged; name their files with --hand.")
    named = _judge(judge, rules)
    with closing(open_run(run)) as store:
        place = hand[0] if hand else None
        if web and place is None:
            if "://" in run:
                raise SettingError(
                    "A run in a database has no directory for the scores; say --hand FILE.jsonl."
                )
            path = Path(run)
            place = (path.parent if path.is_file() else path) / (
                f"hand-scores-{named}.jsonl" if named else "hand-scores.jsonl"
            )
        with progress_bar() as bar:
            material = Material.read(store, lambda done, total: bar("playing again", done, total))
    if web:
        assert place is not None
        _serve(material, place, rules, sample, seed, port, named, interval)
        return
    scores = read_judges(hand, material.info.id) if hand else None
    with remarks.status("scoring"):
        verification = verify(material, rules, scores, examples=examples, interval=interval)
    if export is not None and scores is not None:
        scorers = {name: rules_named(name) for name in (FIRST, rules)}
        written = write_export(
            export, material.info.id, material.trajectories, scores, scorers, replace=force
        )
        remarks.print(f"{written} judged purchases are written to {export}.")
    if out is not None:
        write_verification_page(verification, out, replace=force)
    if as_json:
        print_json(verification.plain())
        return
    _show(verification)
    if out is not None:
        results.print(f"Written: {out}")


def _judge(name: str, rules: str) -> str:
    """A name that can be a part of a file's, and that no other scorer has."""
    if name in (FIRST, rules):
        raise SettingError(f"--judge {name}: the rules are called so; name the person who scores.")
    if len(name) > LONGEST_NAME or not all(sign.isalnum() or sign in "-_." for sign in name):
        raise SettingError(
            f"--judge {name[:80]!r}: expected letters, digits, - _ and . only, at most"
            f" {LONGEST_NAME} of them."
        )
    return name


def _show(verification: Verification) -> None:
    results.print(summary_line(verification))
    title = f"{verification.agent} on {verification.protocol}"
    shown = table("scorer", *PARTS, left=1, title=title)
    for name, means in verification.means.items():
        shown.add_row(name, *(dash(means[part]) for part in PARTS))
    for pair in verification.agreements:
        shown.add_section()
        shown.add_row(f"{pair.first} and {pair.second}")
        parts = [pair.parts[part] for part in PARTS]
        shown.add_row("  Pearson", *(dash(part.pearson, 3) for part in parts))
        shown.add_row("  within 10 %", *(share(part.near) for part in parts))
        shown.add_row("  equal", *(f"{part.equal:,}" for part in parts))
        shown.add_row("  second is lower", *(f"{part.below:,}" for part in parts))
    results.print(shown)
    results.print(f"Second scorer: {verification.rules}. {NOTE}")
    if verification.counted:
        counted = ", ".join(
            f"{number:,} for {part}s" for part, number in verification.counted.items()
        )
        results.print(f"Synonyms that counted: {counted}.")
    for line in needed_lines(verification.needed):
        results.print(line)
    for two in verification.judges:
        _show_judges(two)
    for one in verification.examples:
        scores = ", ".join(f"{name} {score.overall:.2f}" for name, score in one.scores.items())
        results.print(f"Episode {one.episode} ({one.key}): {scores}")
        for credit in one.credits:
            results.print(
                f"  {credit.part}: {credit.found!r} ({credit.place}) counted for {credit.wanted!r}"
            )


def _show_judges(pair: JudgeAgreement) -> None:
    names = [pair.first or HAND, pair.second or HAND]
    shown = table(
        "part", "things", "the same", "kappa", left=1,
        title=f"{names[0]} and {names[1]}: {count(pair.purchases, 'purchase')}",
    )  # fmt: skip
    for part, figures in pair.parts.items():
        shown.add_row(part, f"{figures.things:,}", same_text(figures), kappa_text(figures))
    results.print(shown)
    for row in pair.differences:
        answers = ", ".join(f"{name or HAND} {said:g}" for name, said in row.answers.items())
        wanted = f" {row.wanted!r}" if row.wanted else ""
        results.print(f"  Episode {row.episode}, {row.part}{wanted}: {answers}")


def _serve(
    material: Material,
    place: Path,
    rules: str,
    count: int,
    seed: int,
    port: int,
    judge: str,
    interval: float | None,
) -> None:
    from errands.web.review.servers import serve_scoring

    def started(address: str, wanted: int, done: int) -> None:
        results.print(f"Serving {wanted} purchases to score on {address}")
        results.file.flush()
        remarks.print(f"{done} of them are scored; scores are kept in {place}.")
        remarks.print("Only this machine can reach it. Ctrl-C ends it.")

    serve_scoring(material, place, rules, count, seed, port, started, judge, interval)
