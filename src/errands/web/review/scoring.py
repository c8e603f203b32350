"""Where a person scores purchases: one after the other, each kept before the next.

    GET  /scoring        how far one is; the table, once every purchase is scored
    GET  /scoring/judged.csv   what was judged, once every purchase is scored; also .jsonl
    GET  /scoring/3      the third purchase of the sample
    POST /scoring/3      what the person thinks of it

Until all are scored, nothing shows what the machine gave.
"""

import asyncio
import datetime
import hmac
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from errands.errors import ErrandsError
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.runs.episode import RunInfo
from errands.shop.goals import NO_CAP, Goal
from errands.shop.product import price_label
from errands.shop.render.images import picture_source
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase
from errands.verify.export import ENDINGS, judged_text
from errands.verify.hand_scores import LONGEST_NOTE, TYPES, HandFile, HandScore
from errands.verify.judges import half_width, judge_agreement, needed_for_share
from errands.verify.page import judges_section, verification_body
from errands.verify.trajectories import Trajectory
from errands.verify.verification import FIRST, Material, verify
from errands.web.core import elements as ui
from errands.web.core.application import AppPart, Route
from errands.web.core.forms import Form, read_form
from errands.web.core.http_errors import HttpError, not_found
from errands.web.crowd.document import ASSETS, document, error_page, html_response
from errands.web.crowd.routes import operation, paths

__all__ = ["ScoringSite"]

HOME: Final = "/scoring"
_USUAL_INTERVAL: Final = 0.05
_MOST_VALUES: Final = 300
"""Offered values of one option that are listed."""
_KINDS: Final = {
    1.0: "Yes, it is that kind of product",
    0.5: "Nearly: related, but another kind",
    0.1: "Hardly: it only shares a word or two",
    0.0: "No, it is something else",
}
_ASKED: Final = {
    "attribute": "Which wanted attributes does it have?",
    "option": "Which wanted options were chosen?",
}
assert set(_KINDS) == set(TYPES)


class ScoreDraft(NamedTuple):
    """What is ticked on the form."""

    type: float | None
    attributes: tuple[bool, ...]
    options: tuple[bool, ...]
    price: bool
    note: str


_WAYS: Final = [(HOME, "Purchases to score")]
Work = Callable[[Request], Awaitable[Response]]


class ScoringSite:
    """A sample of purchases, and the file of what people said about them."""

    def __init__(
        self,
        material: Material,
        chosen: Sequence[Trajectory],
        file: HandFile,
        rules: str,
        judge: str = "",
        interval: float | None = None,
    ) -> None:
        self._judge = judge
        self._interval = interval
        self._material = material
        self._chosen = list(chosen)
        self._file = file
        self._rules = rules
        self._check = secrets.token_urlsafe(18)
        self._verified: tuple[int, Markup] | None = None
        self._saved = 0

    @property
    def scored(self) -> set[int]:
        """The places of the sample that have a score, from 1."""
        scores = self._file.scores
        return {place for place, one in enumerate(self._chosen, 1) if one.number in scores}

    def part(self) -> AppPart:
        async def front(request: Request) -> Response:
            return RedirectResponse(HOME, 303)

        one = f"{HOME}/{{place:int}}"
        return AppPart(
            routes=[
                Route("/", front, methods=["GET"]),
                *ASSETS.routes(),
                Route(HOME, _explained(self.overview), methods=["GET"]),
                Route(f"{HOME}/judged{{ending}}", _explained(self.export), methods=["GET"]),
                Route(one, _explained(self.look), methods=["GET"]),
                Route(one, _explained(self.save), methods=["POST"]),
            ],
            paths=_paths,
            metrics=lambda: (
                "# TYPE errands_hand_scores_saved counter\n"
                f"errands_hand_scores_saved {self._saved}\n"
            ),
        )

    async def overview(self, request: Request) -> Response:
        scored = self.scored
        table = EMPTY
        if len(scored) == len(self._chosen):
            table = await asyncio.to_thread(self._table)
        body = overview_body(
            self._chosen, scored, self._material.info, table, self._judge, self._blind_count()
        )
        return _page("Scores by hand", body)

    async def export(self, request: Request) -> Response:
        """What was judged, once nothing of the machine's can be given away."""
        ending: str = request.path_params["ending"]
        if ending not in ENDINGS:
            raise not_found(f"What was judged is there as {' and '.join(ENDINGS)}.")
        if len(self.scored) < len(self._chosen):
            raise HttpError(
                409, "unfinished", "What was judged can be had once every purchase is scored."
            )
        text = await asyncio.to_thread(self._exported, ending)
        kind = "text/csv" if ending == ".csv" else "application/x-ndjson"
        name = f'attachment; filename="judged{ending}"'
        return Response(
            text, media_type=f"{kind}; charset=utf-8", headers={"Content-Disposition": name}
        )

    def _exported(self, ending: str) -> str:
        scorers = {name: rules_named(name) for name in (FIRST, self._rules)}
        judged = {self._judge: self._file.scores}
        return judged_text(ending, self._material.info.id, self._chosen, judged, scorers)

    def _blind_count(self) -> str:
        """How many judgements the interval costs in the worst case: it says nothing of these."""
        if self._interval is None:
            return ""
        total = needed_for_share(0.5, half_width(self._interval))
        points = f"{100 * self._interval:g}"
        return f"{total:,} judgements give ±{points} points whatever comes of them."

    async def look(self, request: Request) -> Response:
        place, one = self._one(request)
        score = self._file.scores.get(one.number)
        if score is None:
            draft, _ = _drafted(Form(), one)
        else:
            draft = ScoreDraft(*(getattr(score, name) for name in ScoreDraft._fields))
        return self._form(place, one, draft)

    async def save(self, request: Request) -> Response:
        place, one = self._one(request)
        form = await read_form(request)
        draft, wrong = _drafted(form, one)
        if not hmac.compare_digest(form.text("check").encode(), self._check.encode()):
            wrong = "This page was made before the server started; save it once more."
        if wrong:
            return self._form(place, one, draft, wrong, 400)
        assert draft.type is not None
        self._file.add(
            HandScore(
                run=self._material.info.id,
                episode=one.number,
                **draft._asdict(),
                at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            )
        )
        self._saved += 1
        scored = self.scored
        order = (*range(place + 1, len(self._chosen) + 1), *range(1, place))
        after = next((at for at in order if at not in scored), None)
        return RedirectResponse(HOME if after is None else f"{HOME}/{after}", 303)

    def _one(self, request: Request) -> tuple[int, Trajectory]:
        place: int = request.path_params["place"]
        if not 1 <= place <= len(self._chosen):
            raise not_found(f"There are purchases 1 to {len(self._chosen)}.")
        return place, self._chosen[place - 1]

    def _form(
        self, place: int, one: Trajectory, draft: ScoreDraft, wrong: str = "", status: int = 200
    ) -> Response:
        total, done = len(self._chosen), len(self.scored)
        body = scoring_body(place, total, done, one, draft, self._check, wrong)
        return _page(f"Purchase {place} of {total}", body, status)

    def _others(self, sampled: Mapping[int, HandScore]) -> Iterator[Markup]:
        """How this judge agrees with those who scored some of the sample in the same file."""
        trajectories = {one.number: one for one in self._chosen}
        for name, scores in self._file.others().items():
            shared = {number: score for number, score in scores.items() if number in sampled}
            if shared:
                judges = {self._judge: sampled, name: shared}
                yield judges_section(judge_agreement(self._judge, name, judges, trajectories))

    def _table(self) -> Markup:
        """What came of it, made once for each new score."""
        if self._verified is None or self._verified[0] != self._saved:
            sampled = {one.number: self._file.scores[one.number] for one in self._chosen}
            interval = self._interval or _USUAL_INTERVAL
            made = verification_body(
                verify(self._material, self._rules, {self._judge: sampled}, interval=interval)
            )
            made = ui.fragment(made, *self._others(sampled))
            self._verified = (self._saved, made)
        return self._verified[1]


def _drafted(form: Form, one: Trajectory) -> tuple[ScoreDraft, str]:
    """What was sent, and what is wrong with it."""
    kind = next((value for value in TYPES if f"{value:g}" == form.text("type")), None)
    note = form.text("note").strip()
    draft = ScoreDraft(
        type=kind,
        attributes=_ticked(form.texts("attribute"), len(one.goal.attributes)),
        options=_ticked(form.texts("option"), len(one.goal.goal_options)),
        price=form.text("price") == "1",
        note=note[:LONGEST_NOTE],
    )
    if kind is None:
        return draft, "Say whether it is that kind of product: one of the four."
    if len(note) > LONGEST_NOTE:
        return draft, f"The remark is longer than {LONGEST_NOTE:,} characters, and was cut there."
    return draft, ""


def _ticked(sent: Sequence[str], count: int) -> tuple[bool, ...]:
    return tuple(str(place) in sent for place in range(count))


def _page(title: str, body: Markup, status: int = 200) -> Response:
    return html_response(document(title, body, ways=_WAYS, here=HOME), status)


def _explained(work: Work) -> Work:
    """What cannot be done is a page that says why."""

    async def endpoint(request: Request) -> Response:
        try:
            return await work(request)
        except HttpError as refusal:
            error = refusal
        except ErrandsError as failure:
            error = HttpError(503, "unavailable", str(failure))
        return html_response(error_page(error, _WAYS), error.status)

    return endpoint


def _paths() -> dict[str, object]:
    text = {"type": "string"}
    form = dict.fromkeys(("type", "attribute", "option", "price", "note", "check"), text)
    return paths(
        {
            HOME: {"get": operation("Purchases to score", media="text/html")},
            f"{HOME}/judged.csv": {"get": operation("What was judged", media="text/csv")},
            f"{HOME}/judged.jsonl": {
                "get": operation("What was judged", media="application/x-ndjson")
            },
            f"{HOME}/{{number}}": {
                "get": operation("One purchase", media="text/html"),
                "post": operation("Score it", form=form, status="303"),
            },
        }
    )


def overview_body(
    chosen: Sequence[Trajectory],
    scored: Collection[int],
    info: RunInfo,
    verified: Markup,
    judge: str = "",
    needed: str = "",
) -> Markup:
    """How far one is; `verified` is the table, once all are scored."""
    total = len(chosen)
    after = next((place for place in range(1, total + 1) if place not in scored), None)
    rows = [
        [
            html('<a href="{}/{}">{}</a>', HOME, place, place),
            badge("scored", "won") if place in scored else badge("open"),
            cut(one.goal.instruction_text, 140),
        ]
        for place, one in enumerate(chosen, 1)
    ]
    following = EMPTY
    if after is not None:
        label = f"{'Continue' if scored else 'Start'} with purchase {after}"
        following = ui.fragment(
            ui.paragraph("Automatic scores are shown when every purchase is scored.", "note"),
            ui.actions(ui.link_button(label, f"{HOME}/{after}", "primary")),
        )
    listed = table(["purchase", "state", "instruction"], rows)
    return ui.fragment(
        ui.section(
            html(
                '<progress max="{}" value="{}" aria-label="Scored purchases"></progress>'
                "<p>A run of {} on {}. For each purchase you say which of the wanted things the"
                " bought product has. A synonym counts, unless the wanted value itself was"
                " there to be chosen.</p>",
                *(total, len(scored), info.agent, info.protocol_key),
            ),
            ui.paragraph(f"You score as {judge}.", "note") if judge else EMPTY,
            ui.paragraph(needed, "note") if needed and after is not None else EMPTY,
            following,
            title=f"{len(scored)} of {total} scored",
        ),
        _exports() if after is None else EMPTY,
        verified,
        ui.section(listed, title="All", kind="texts"),
    )


def _exports() -> Markup:
    links = (ui.link_button(f"Save as {ending}", f"{HOME}/judged{ending}") for ending in ENDINGS)
    return ui.section(
        ui.paragraph("With the purchase's facts, what the rules gave, and what you said."),
        ui.actions(*links),
        title="What was judged",
    )


def scoring_body(
    place: int, total: int, done: int, one: Trajectory, draft: ScoreDraft, check: str, wrong: str
) -> Markup:
    """One purchase with its questions; it is sure that something was bought."""
    assert one.purchase is not None
    steps = join(html("<li><code>{}</code></li>", cut(action, 300)) for action in one.actions)
    return ui.fragment(
        ui.callout(wrong, "bad", role="alert") if wrong else EMPTY,
        ui.section(
            ui.paragraph(f"{done} of {total} are scored.", "note"),
            html("<h2>Instruction</h2>"),
            ui.paragraph(one.goal.instruction_text, "wrote"),
            _bought(one.purchase),
            _questions(place, one.goal, one.purchase, draft, check),
            html(
                '<details class="card guide"><summary>All steps ({})</summary><ol>{}</ol>'
                "</details>",
                *(len(one.actions), steps),
            ),
            kind="writing scoring",
        ),
        ui.actions(_neighbour(place - 1, "Previous", total), _neighbour(place + 1, "Next", total)),
    )


def _bought(purchase: Purchase) -> Markup:
    product = purchase.product
    source = picture_source(product.image)
    image = EMPTY
    if source.startswith(("https://", "data:image/svg+xml,")):
        image = html('<img src="{}" alt="" referrerpolicy="no-referrer" loading="lazy">', source)
    options = join(
        html("<p><b>{}:</b> {}</p>", name, _values(values, purchase.options.get(name)))
        for name, values in product.options.items()
    )
    return html(
        '<h2>What was bought</h2><div class="card product">{image}<div><h3>{title}</h3>'
        "<p>{price_tag}; it counts as ${price:,.2f}</p>"
        '<p class="note">{category}</p></div></div>'
        '<div class="card guide"><h3>Options, the chosen ones marked</h3>{options}'
        "<h3>Features</h3><ul>{bullets}</ul><h3>Description</h3><p>{description}</p></div>"
        '<details class="card guide"><summary>Attributes that a program found in these texts, and'
        " that no shopper sees</summary><p>{attributes}</p></details>",
        image=image,
        title=product.title,
        price_tag=price_label(product.price_tag),
        price=purchase.price,
        category=product.product_category,
        options=options or ui.paragraph("It has none."),
        bullets=join(html("<li>{}</li>", bullet) for bullet in product.bullets or ("none",)),
        description=product.description or "none",
        attributes=", ".join(product.attributes) or "none",
    )


def _values(values: Sequence[str], chosen: str | None) -> Markup:
    shown = list(values[:_MOST_VALUES])
    if chosen is not None and chosen not in shown:
        shown.append(chosen)
    return html(
        "{}{}{}",
        join((html("<mark>{}</mark>", one) if one == chosen else one for one in shown), " · "),
        f" and {len(values) - _MOST_VALUES:,} more" if len(values) > _MOST_VALUES else "",
        "" if chosen is not None else " (none was chosen)",
    )


def _questions(place: int, goal: Goal, purchase: Purchase, draft: ScoreDraft, check: str) -> Markup:
    wanted = goal.goal_options
    options = (
        [f"{name}: {value}" for name, value in wanted.items()]
        if isinstance(wanted, dict)
        else list(wanted)
    )
    kinds = join(
        ui.tick("type", f"{value:g}", text, draft.type == value, type="radio", required=True)
        for value, text in _KINDS.items()
    )
    if goal.price_upper == NO_CAP:
        price = "The price is fine (there is no limit)"
    else:
        price = f"${purchase.price:,.2f} is at most ${goal.price_upper:,.2f}"
    content = ui.form(
        f"{HOME}/{place}",
        html(
            "<fieldset><legend>Is it that kind of product?</legend>"
            "<small>The goal was made from: {}</small>{}</fieldset>",
            *(goal.name, kinds),
        ),
        _ticks("attribute", goal.attributes, draft.attributes),
        _ticks("option", options, draft.options),
        html(
            "<fieldset><legend>Is the price right?</legend>{}</fieldset>",
            ui.tick("price", 1, price, draft.price),
        ),
        ui.text_area("Remark, if you like", "note", draft.note, maxlength=LONGEST_NOTE),
        ui.submit("Save and continue", "primary"),
        check=check,
    )
    return html("<h2>Your score</h2>{}", content)


def _ticks(name: str, texts: Sequence[str], ticked: Sequence[bool]) -> Markup:
    boxes = join(
        ui.tick(name, place, text, any(ticked[place : place + 1]))
        for place, text in enumerate(texts)
    )
    none = ui.paragraph("None were wanted.", "note")
    return html("<fieldset><legend>{}</legend>{}</fieldset>", _ASKED[name], boxes or none)


def _neighbour(place: int, label: str, total: int) -> Markup:
    return ui.link_button(label, f"{HOME}/{place}") if 1 <= place <= total else EMPTY
