"""Puts proofs and comparisons into their places: the package's `proofs.jsonl` and the docs' table.

    make turk-proofs        # both commands on all tasks, then this: about an hour of two cores

Reads lines of JSON that `errands turk verify --json` and `errands turk compare --out` have written.
"""

import re
import sys
from pathlib import Path

import msgspec

from errands.turk.effects.plays import DriverComparison
from errands.turk.effects.verify import TaskVerification
from errands.turk.proofs import Proof, write_proofs
from errands.turk.tasks.loader import load_tasks

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "src" / "errands" / "turk" / "proofs.jsonl"
PAGE = ROOT / "docs" / "explanation" / "turkingbench-results.md"
TABLE = re.compile(r"(<!-- proofs -->\n).*?(<!-- end -->)", re.S)


def main(folder: Path) -> None:
    verified = list(
        {
            one.task: one
            for path in sorted(folder.glob("verified-*.jsonl"))
            for line in path.read_bytes().splitlines()
            for one in [msgspec.json.decode(line, type=TaskVerification)]
        }.values()
    )
    compared = {
        one.task: one
        for path in sorted(folder.glob("compared-*.jsonl"))
        for line in path.read_bytes().splitlines()
        for one in [msgspec.json.decode(line, type=DriverComparison)]
    }
    proofs = {row.proof.template: row.proof for row in verified if row.proof is not None}
    write_proofs(SHIPPED, proofs.values())
    shipped = {
        proof.template: proof
        for line in SHIPPED.read_bytes().splitlines()
        for proof in [msgspec.json.decode(line, type=Proof)]
    }
    demo = load_tasks("demo")
    real = [row for row in verified if row.task not in demo]
    text = "\n".join([*summary(real, compared), "", *table(real, shipped, compared)])
    page = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page), "utf-8")


def summary(rows: list[TaskVerification], compared: dict[str, DriverComparison]) -> list[str]:
    proofs = [row.proof for row in rows if row.proof is not None]
    equal = [proof for proof in proofs if proof.equal]
    done = [proof.coverage for proof in equal if proof.coverage is not None]
    plays = sum(one.agent_plays + one.walks for one in compared.values())
    differing = sum(len(one.differences) for one in compared.values())
    without = sum(row.driver == "dom" for row in rows)
    return [
        f"{len(equal)} of {len(rows)} tasks are the same without a browser:"
        f" {sum(proof.method == 'construction' for proof in equal)} by construction,"
        f" {sum(proof.method == 'coverage' for proof in equal)} by coverage, of which"
        f" {sum(bool(proof.effect_rules) for proof in equal)} with what their scripts do"
        f" replayed. `auto` runs {without} of them without one. The proofs took"
        f" {sum(one.actions for one in done):,} actions on {sum(one.rows for one in done):,} rows"
        f" under both drivers and met {sum(one.pairs for one in done):,} ordered pairs of values;"
        f" {sum(one.loads for one in done):,} pages were compared as they were loaded.",
        "",
        f"`errands turk compare`: {plays:,} plays"
        f" ({sum(one.actions for one in compared.values()):,} actions) of {len(compared)} tasks"
        " on seeds and, where there are any, rows outside the proofs:"
        f" **{differing} differences**.",
    ]


def table(
    rows: list[TaskVerification], shipped: dict[str, Proof], compared: dict[str, DriverComparison]
) -> list[str]:
    lines = [
        "| task | split | fields | equal | `text` equal | rows (kinds) | values | pairs (left) |"
        " actions, walks |"
        " `auto` takes | plays: differences | oracle, paper / released | do-nothing | first"
        " difference |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: row.task):
        if row.proof is None or row.proof.coverage is None:
            continue
        proof, done = shipped[row.proof.template], row.proof.coverage
        equal = f"by {proof.method}" if proof.equal else "no"
        equal += f", {len(proof.effect_rules)} effects" if proof.effect_rules else ""
        one = compared.get(row.task)
        cells = [
            *(row.task, row.split, str(row.fields), equal, text_of(proof)),
            f"{done.rows} ({done.kinds} of {done.kinds_of_all})",
            *(str(done.values), f"{done.pairs:,} ({done.pairs_left})"),
            *(f"{done.actions:,}, {done.walks}", row.driver),
            f"{one.agent_plays + one.walks}: {len(one.differences)}" if one else "",
            *(figures(row.oracle), figures(row.do_nothing)),
            proof.reason.replace("|", "\\|"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def text_of(proof: Proof) -> str:
    """Whether the visible text is the same; a proof ends with its first difference."""
    if proof.equal:
        return "yes"
    return "no" if proof.reason.endswith(": text") else "not compared to the end"


def figures(by_rules: dict[str, float | None]) -> str:
    chosen = [by_rules.get(rules) for rules in ("paper", "released")]
    return " / ".join("-" if value is None else f"{value:.2f}" for value in chosen)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
