"""The front page and the page of each protocol."""

from collections.abc import Iterator, Sequence
from typing import Final

from errands.leaderboard.board import LEVEL, Board, BoardRow, BoardTable
from errands.leaderboard.site.document import document
from errands.leaderboard.site.parts import (
    figure_cell,
    plain_table,
    significance,
    usage,
    whiskers,
)
from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import DOMAINS, SCORES
from errands.reports.formatting import DASH, count, fixed
from errands.reports.html.elements import badge
from errands.reports.statistics.estimate import METHODS

__all__ = ["front_page", "protocol_page"]

_COMPARED: Final = (
    "“Against” pairs the episodes that both played and keeps those of one product, task or goal"
    " together: p is of a sign-flip permutation test, raised by Holm's method for all comparisons"
    f" of the table; below {LEVEL} two rows are told apart."
)
_KINDS: Final = ("language model", "trained", "scripted", "person", "other")


def front_page(board: Board) -> str:
    """What there is: tables, and what did not get into one."""
    rows = sum(len(table.rows) + len(table.ceilings) for table in board.tables)
    body = [
        html('<section id="tables"><h2>Protocols</h2>{}</section>', _protocols(board.tables)),
        _unchecked(board),
        _refused(board),
        _notes(board),
        _how(),
    ]
    below = html(
        "<p>{} replayed under {}; {} refused, {} not checked.</p>",
        count(rows, "submission"),
        count(sum(1 for table in board.tables if table.date), "protocol"),
        f"{len(board.refused):,}",
        f"{len(board.unchecked):,}",
    )
    jumps = [("#tables", "Protocols")]
    jumps += [("#unchecked", "Not checked")] if board.unchecked else []
    jumps += [("#refused", "Refused")] if board.refused else []
    jumps += [("#how", "How it is made"), ("leaderboard.json", "leaderboard.json")]
    return document(board.title, join(body), below=below, jumps=jumps)


def _protocols(tables: Sequence[BoardTable]) -> Markup:
    rows = []
    for table in tables:
        best = table.rows[0] if table.rows else None
        what = [badge("a submitter's own")] if table.own else []
        what += [badge("published figures only")] if not table.date else []
        what += [badge(departure) for departure in table.departures]
        rows.append(
            html(
                '<tr><th scope="row"><a href="protocols/{}.html">{}</a> {}<small>{}</small></th>'
                '<td>{}</td>{}<td>{}</td><td class="date">{}</td></tr>',
                table.slug,
                table.title,
                join(what, " "),
                table.key,
                DASH if best is None else best.agent.name,
                html("<td>{}</td>", DASH) if best is None else figure_cell(best.figures.score),
                len(table.rows) + len(table.ceilings),
                table.date or DASH,
            )
        )
    head = ("protocol", "best", "its score", "submissions", "newest")
    return plain_table("What is played, and who is ahead", head, rows, "ranking")


def _unchecked(board: Board) -> Markup:
    if not board.unchecked:
        return EMPTY
    rows = [
        html(
            '<tr id="s-{}"><th scope="row">{}<small>{}</small></th><td>{}</td>'
            '<td class="claim">{}</td><td class="claim">{}</td><td class="left">{}</td></tr>',
            row.hash[:12],
            row.agent.name,
            row.file,
            row.protocol,
            DASH if row.claimed.score.mean is None else fixed(row.claimed.score.mean),
            DASH if row.claimed.success.mean is None else fixed(row.claimed.success.mean),
            f"not checked: {row.reason}",
        )
        for row in board.unchecked
    ]
    head = ("agent", "protocol", "score, claimed", "success %, claimed", "why")
    note = "These figures are their submitters' claims: nothing was played again."
    made = plain_table("Not checked on this machine", head, rows, "ranking", note)
    return html('<section id="unchecked"><h2>Not checked</h2>{}</section>', made)


def _refused(board: Board) -> Markup:
    if not board.refused:
        return EMPTY
    rows = [
        html(
            '<div class="callout bad"><p><b>{}</b> {} {}</p><p>{}</p>{}</div>',
            one.name or one.file,
            one.protocol,
            html('<span class="hash">{} {}</span>', one.file, one.hash[:12]),
            one.reason,
            html(
                "<details><summary>{}</summary><ul>{}</ul></details>",
                count(len(one.mismatches), "difference"),
                join(html("<li>{}</li>", str(each)) for each in one.mismatches),
            )
            if one.mismatches
            else EMPTY,
        )
        for one in board.refused
    ]
    return html('<section id="refused"><h2>Refused</h2>{}</section>', join(rows))


def _notes(board: Board) -> Markup:
    if not board.notes:
        return EMPTY
    listed = join(html("<li>{}</li>", note) for note in board.notes)
    return html(
        '<section id="notes"><h2>Remarks</h2><div class="callout"><ul>{}</ul></div></section>',
        listed,
    )


def _how() -> Markup:
    return html(
        '<section id="how"><h2>How it is made</h2><div class="card">'
        "<p>A submission is one file with every action of a run. Before it is ranked its actions"
        " are done again on the protocol's data, and every reward, every figure and every"
        " interval is computed anew. A submission of which one episode does not come back is"
        " refused, with the episode, what was claimed and what came. Agents that were shown the"
        " answers stand apart, as ceilings.</p>"
        "<p>A replay shows what was done and what it brought. It cannot show how the actions were"
        " found: what is said of an agent, its model and its cost is its submitter's word.</p>"
        "<pre>errands run PROTOCOL --agent YOURS --out runs/mine\n"
        "errands submit runs/mine --name &quot;What it is called&quot; --url https://...\n"
        "errands leaderboard FOLDER --out site</pre></div></section>"
    )


def protocol_page(table: BoardTable) -> str:
    """The ranking of one protocol."""
    sections = [_ranking(table)]
    jumps = [("#ranking", "Ranking")]
    if table.ceilings:
        sections.append(_ceilings(table))
        jumps.append(("#ceilings", "Ceilings"))
    if table.published:
        sections.append(_published(table))
        jumps.append(("#published", "Published"))
    if table.date:
        sections.append(_cite(table))
        jumps.append(("#cite", "Cite this table"))
    facts = [DOMAINS.get(table.domain, table.domain), table.key]
    if table.source:
        facts.append(table.source)
    return document(
        table.title,
        join(sections),
        up="../",
        crumbs=[("../index.html", "Leaderboard")],
        below=html("<p>{}</p>", " · ".join(facts)),
        jumps=jumps,
        scripted=True,
    )


def _ranking(table: BoardTable) -> Markup:
    parts: list[Markup] = []
    if table.warning:
        parts.append(html('<div class="callout"><p><b>Mind:</b> {}</p></div>', table.warning))
    if table.departures:
        parts.append(
            html(
                '<div class="callout"><p><b>Not the whole protocol:</b> {}</p></div>',
                ", ".join(table.departures),
            )
        )
    if table.own:
        parts.append(
            html(
                '<div class="callout"><p>A protocol of a submitter’s own, an earlier version, or'
                " one that departs from the one of that name: only rows of this very table are"
                " comparable.</p>"
                "</div>"
            )
        )
    if table.rows:
        parts.append(_filters(table))
        parts.append(_rows(table, table.rows, "Ranking", compared=True))
        parts.append(_methods(table))
    else:
        parts.append(html('<p class="note">Nobody has submitted a run yet.</p>'))
    return html('<section id="ranking"><h2>Ranking</h2>{}</section>', join(parts))


def _methods(table: BoardTable) -> Markup:
    """How the figures of a table are made."""
    estimates = [
        estimate
        for row in (*table.rows, *table.ceilings)
        for estimate in (row.figures.score, row.figures.success)
    ]
    used = {estimate.method for estimate in estimates}
    notes = [
        "Scores are in percent, with 95 % intervals; errors count as 0.",
        *(f"Interval by {name}: {method}." for name, method in METHODS.items() if name in used),
        _COMPARED,
    ]
    return html('<ul class="note">{}</ul>', join(html("<li>{}</li>", note) for note in notes))


def _filters(table: BoardTable) -> Markup:
    there = {row.agent_kind for row in table.rows}
    options = join(
        html('<option value="{0}">{0}</option>', kind) for kind in _KINDS if kind in there
    )
    answers = EMPTY if table.ceilings else Markup(" hidden")
    return html(
        '<form class="filters" id="filters" hidden>'
        '<label>Search<input type="search" name="words" placeholder="agent, authors"></label>'
        '<label>Agents<select name="kind"><option value="">all kinds</option>{}</select></label>'
        '<label>Since<input type="date" name="since"></label>'
        '<label class="tick"{}><input type="checkbox" name="answers" checked>ceilings, too</label>'
        '<button type="reset">Show all</button></form>'
        '<p class="told" id="told" role="status"></p>',
        options,
        answers,
    )


_COLUMNS: Final = (
    ("place", "#", "number"),
    ("agent", "agent", "text"),
    ("score", "score", "number"),
    ("success", "success %", "number"),
    ("picture", "0 to 100", ""),
    ("best", "against the best", "number"),
    ("above", "against the row above", "number"),
    ("steps", "steps", "number"),
    ("usage", "tokens and cost", ""),
    ("date", "date", "text"),
)


def _rows(table: BoardTable, rows: Sequence[BoardRow], caption: str, *, compared: bool) -> Markup:
    score = SCORES.get(table.domain, "score")
    heads = []
    for name, title, kind in _COLUMNS:
        if name in ("best", "above") and not compared:
            continue
        shown = score if name == "score" else title
        sort = html(' data-sort="{}"', kind) if kind else EMPTY
        heads.append(html('<th scope="col" class="{}"{}>{}</th>', name, sort, shown))
    made = join(_row(place, row, compared) for place, row in enumerate(rows, 1))
    return html(
        '<div class="wide"><div class="scroll" tabindex="0" role="region" aria-label="{0}">'
        '<table class="ranking"><caption class="skip">{0}</caption><thead><tr>{1}</tr></thead>'
        "<tbody>{2}</tbody></table></div></div>",
        f"{caption}: {table.title}",
        join(heads),
        made,
    )


def _row(place: int, row: BoardRow, compared: bool) -> Markup:
    card = row.agent
    words = " ".join(
        [
            card.name,
            card.agent,
            card.authors,
            card.note,
            row.hash,
            *map(str, card.settings.values()),
        ]
    ).lower()[:1000]
    marks = [badge(row.agent_kind)]
    if row.figures.errors:
        marks.append(badge(count(row.figures.errors, "error"), "failed"))
    against = join(significance(row)) if compared else EMPTY
    return html(
        '<tr id="s-{short}" data-kind="{kind}" data-answers="{answers}" data-date="{date}"'
        ' data-words="{words}"><td class="place" data-value="{place}">{place}</td>'
        '<th scope="row" data-value="{name}"><a href="../submissions/{short}/index.html">{name}</a>'
        ' {marks}<small>{authors}<span class="hash"><a href="#s-{short}" title="Address of this'
        ' row">{short}</a></span></small></th>{score}{success}'
        '<td class="picture">{picture}</td>{against}'
        '<td data-value="{steps:.4f}">{shown}</td><td>{usage}</td>'
        '<td class="date" data-value="{date}">{date}</td></tr>',
        short=row.short,
        kind=row.agent_kind,
        answers="yes" if card.privileged else "no",
        date=row.date,
        words=words,
        place=place,
        name=card.name,
        marks=join(marks, " "),
        authors=f"{card.authors} · " if card.authors else "",
        picture=whiskers(row.figures.score),
        score=figure_cell(row.figures.score),
        success=figure_cell(row.figures.success),
        against=against,
        steps=row.figures.steps,
        shown=fixed(row.figures.steps),
        usage=usage(card),
    )


def _ceilings(table: BoardTable) -> Markup:
    return html(
        '<section id="ceilings"><h2>Ceilings</h2><p class="note">These agents were shown the'
        " answers: what they reach is what can be reached, and no result.</p>{}</section>",
        _rows(table, table.ceilings, "Ceilings", compared=False),
    )


def _published(table: BoardTable) -> Markup:
    rows = [
        html(
            '<tr><th scope="row">{} {}</th><td class="claim">{}</td><td class="claim">{}</td>'
            "<td>{}</td></tr>",
            row.name,
            badge("ceiling") if row.privileged else EMPTY,
            fixed(row.score),
            DASH if row.success is None else fixed(row.success),
            row.source,
        )
        for row in table.published
    ]
    note = (
        "Published, not replayed: figures of the papers, on their data and by their own code, to"
        " compare with in kind."
    )
    made = plain_table(
        "Published figures", ("agent", "score", "success %", "source"), rows, "ranking", note
    )
    return html('<section id="published"><h2>Published, not replayed</h2>{}</section>', made)


def _cite(table: BoardTable) -> Markup:
    return html(
        '<section id="cite" class="cite"><h2>Cite this table</h2><div class="card">'
        "<p>The table is named by its key and by a fingerprint of its submissions; the address of"
        " a row ends in <code>#s-</code> and the first twelve digits of its submission’s hash,"
        " and never changes.</p><pre>{}</pre><pre>{}</pre></div></section>",
        f"{table.title}. Errands leaderboard, table {table.key}, fingerprint"
        f" {table.fingerprint}, {table.date}.",
        "\n".join(_bibtex(table)),
    )


def _bibtex(table: BoardTable) -> Iterator[str]:
    title = table.title.replace("{", "(").replace("}", ")").replace("\\", "/")
    yield f"@misc{{errands-{table.fingerprint},"
    yield f"  title = {{{{{title}}}: a table of the Errands leaderboard}},"
    yield f"  year = {{{table.date[:4]}}},"
    yield f"  note = {{protocol {table.key}; fingerprint {table.fingerprint}; {table.date}}}"
    yield "}"
