"""The front desk of the office: logging in, and who may work here."""

from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import LOGIN_SECONDS, LONGEST_NAME, Invitation, Person
from errands.reports.html.markup import esc, table
from errands.web.core.application import Route
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import COOKIE, CrowdRequest, json_response, redirect
from errands.web.crowd.document import HEADERS, button, document, field, staff_links
from errands.web.crowd.openapi import operation, paths
from errands.web.crowd.site import CrowdSite, RouteGroup

__all__ = ["account_routes", "page"]

PEOPLE: Final = "/office/people"
MOST_INVITED: Final = 500
"""At once."""


class InvitationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is to be invited, and as what."""

    names: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]],
        msgspec.Meta(min_length=1, max_length=MOST_INVITED),
    ]
    role: Literal["requester", "worker"] = "worker"


class AccountChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether somebody may come in."""

    is_active: bool


class PasswordChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The admin's password from now on."""

    old: str
    """So that nobody changes it by mistake."""
    new: str


class AccountList(msgspec.Struct, frozen=True):
    """All accounts."""

    people: list[Person]


class Invitations(msgspec.Struct, frozen=True):
    """New accounts with their links, which are shown only now."""

    invited: list[dict[str, Any]]


def page(
    title: str, body: str, request: CrowdRequest, here: str = "", *, below: str = ""
) -> Response:
    """A page of the office for somebody who is logged in."""
    name = "" if request.person.role == "admin" else f"<p>{esc(request.person.name)}</p>"
    content = document(
        title, body, ways=staff_links(request.person), here=here, below=below or name
    )
    return Response(content, headers=HEADERS, media_type="text/html")


def account_routes(site: CrowdSite) -> RouteGroup:
    """Logging in and out, people and their links."""
    desk = _AccountPages(site)
    at = site.auth
    one = f"{PEOPLE}/{{id:int}}"
    invitation = "/v1/office/people"
    routes = [
        Route("/office/login", at.open_page(desk.log_in), methods=["GET", "POST"]),
        Route("/office/enter/{token}", at.open_page(desk.enter), methods=["GET", "POST"]),
        Route("/office/logout", at.page(desk.log_out, "admin", "requester"), methods=["POST"]),
        Route("/office", at.page(desk.overview, "admin", "requester"), methods=["GET"]),
        Route("/office/password", at.page(desk.password, "admin"), methods=["POST"]),
        Route("/v1/office/password", at.api(desk.api_password, "admin"), methods=["PUT"]),
        Route(PEOPLE, at.page(desk.everybody, "admin"), methods=["GET"]),
        Route(PEOPLE, at.page(desk.invite, "admin"), methods=["POST"]),
        Route(f"{one}/renew", at.page(desk.renew, "admin"), methods=["POST"]),
        Route(f"{one}/standing", at.page(desk.stand, "admin"), methods=["POST"]),
        Route(invitation, at.api(desk.api_everybody, "admin"), methods=["GET"]),
        Route(invitation, at.api(desk.api_invite, "admin"), methods=["POST"]),
        Route(f"{invitation}/{{id:int}}", at.api(desk.api_stand, "admin"), methods=["PATCH"]),
        Route(f"{invitation}/{{id:int}}/renew", at.api(desk.api_renew, "admin"), methods=["POST"]),
    ]
    return RouteGroup(routes, _paths)


class _AccountPages:
    def __init__(self, site: CrowdSite) -> None:
        self._accounts = site.people
        self._auth = site.auth

    async def log_in(self, request: Request, form: Form) -> Response:
        if request.method != "POST":
            return _login_page()
        person = await self._auth.admin(form.text("password"), request)
        if person is None:
            return _login_page("That is not the password.")
        return self._entered(request, person)

    async def enter(self, request: Request, form: Form) -> Response:
        """A requester's link; a worker's leads to their work."""
        token = request.path_params["token"]
        person = self._accounts.by_token(token)
        if person is None:
            raise HttpError(404, "not_found", "This link leads nowhere; ask for a new one.")
        if person.role == "worker":
            return redirect(f"/work/{token}")
        return self._entered(request, person)

    def _entered(self, request: Request, person: Person) -> Response:
        response = redirect("/office")
        response.set_cookie(
            COOKIE,
            self._accounts.log_in(person),
            max_age=int(LOGIN_SECONDS),
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return response

    async def log_out(self, request: CrowdRequest) -> Response:
        self._accounts.log_out(request.http.cookies.get(COOKIE, ""))
        response = redirect("/office/login")
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return response

    async def overview(self, request: CrowdRequest) -> Response:
        cards = [
            ("/office/projects", "Crowd work", "Tasks that people do: upload, watch, download."),
        ]
        if request.person.role == "admin":
            cards += [
                ("/office/instructions", "Instructions", "What people write for products."),
                ("/office/demonstrations", "Demonstrations", "How people shop, and how well."),
                (PEOPLE, "People", "Who may work here, and their links."),
            ]
        shown = "".join(
            f'<div class="card"><h2><a href="{address}">{title}</a></h2><p>{text}</p></div>'
            for address, title, text in cards
        )
        change = ""
        if request.person.role == "admin":
            change = (
                '<section><details class="card"><summary>Change the password</summary>'
                '<form method="post" action="/office/password">'
                f'<input type="hidden" name="check" value="{request.check}">'
                + field("Current password", "old", type="password", required=True)
                + field(
                    "New password",
                    "new",
                    type="password",
                    hint="8 characters or more",
                    required=True,
                )
                + '<button class="btn" type="submit">Change it</button></form></details></section>'
            )
        leave = button("Log out", "/office/logout", request.check)
        body = f'<section><div class="cards">{shown}</div></section>{change}'
        return page("Office", f'{body}<div class="deeds">{leave}</div>', request, "/office")

    async def password(self, request: CrowdRequest) -> Response:
        if await self._auth.admin(request.form.text("old"), request.http) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(request.form.text("new"))
        return redirect("/office/login")

    async def everybody(self, request: CrowdRequest) -> Response:
        return page("People", self._people_body(request), request, PEOPLE)

    async def invite(self, request: CrowdRequest) -> Response:
        names = [name for name in request.form.text("names").splitlines() if name.strip()]
        if len(names) > MOST_INVITED:
            raise HttpError(400, "bad_request", f"At most {MOST_INVITED} people at once.")
        role = request.form.text("role", "worker")
        invited = self._accounts.invite_all(names, role)  # type: ignore[arg-type]
        return page("People", self._people_body(request, invited), request, PEOPLE)

    async def renew(self, request: CrowdRequest) -> Response:
        invited = self._accounts.renew(request.number("id"))
        if invited is None:
            raise _nobody()
        return page("People", self._people_body(request, [invited]), request, PEOPLE)

    async def stand(self, request: CrowdRequest) -> Response:
        is_active = request.form.text("is_active") == "1"
        if self._accounts.set_active(request.number("id"), is_active) is None:
            raise _nobody()
        return redirect(PEOPLE)

    async def api_password(self, request: CrowdRequest) -> Response:
        wanted = request.read(_PASSWORD)
        # Who asks has come in with it, so there is nothing to guess.
        if self._accounts.proven_admin(wanted.old) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(wanted.new)
        return json_response({"done": True})

    async def api_everybody(self, request: CrowdRequest) -> Response:
        return json_response(AccountList(self._accounts.everybody()))

    async def api_invite(self, request: CrowdRequest) -> Response:
        wanted = request.read(_INVITATION)
        invited = self._accounts.invite_all(wanted.names, wanted.role)
        return json_response(Invitations([_told(one, request.http) for one in invited]), 201)

    async def api_renew(self, request: CrowdRequest) -> Response:
        invited = self._accounts.renew(request.number("id"))
        if invited is None:
            raise _nobody()
        return json_response(Invitations([_told(invited, request.http)]))

    async def api_stand(self, request: CrowdRequest) -> Response:
        person = self._accounts.set_active(request.number("id"), request.read(_CHANGE).is_active)
        if person is None:
            raise _nobody()
        return json_response(person)

    def _people_body(self, request: CrowdRequest, invited: list[Invitation] | None = None) -> str:
        new = ""
        if invited:
            rows = [[esc(one.person.name), _secret(_link(one, request.http))] for one in invited]
            new = (
                '<section><div class="callout"><h2>New links</h2><p>They are shown only now: pass'
                f" them on before you leave.</p>{_texts(['name', 'link'], rows)}</div></section>"
            )
        rows = [
            [f"{esc(person.name)}<br>{_standing(person)}", _deeds(person, request.check)]
            for person in self._accounts.everybody()
        ]
        return (
            f"{new}<section><h2>Invite</h2>"
            f'<form class="card" method="post" action="{PEOPLE}">'
            f'<input type="hidden" name="check" value="{request.check}">'
            '<p class="field"><label for="names">Names</label><small id="names-hint">One a'
            ' line; each gets a link of their own.</small><textarea id="names" name="names"'
            ' aria-describedby="names-hint" required></textarea></p>'
            '<p class="field"><label for="role">They are</label><select id="role" name="role">'
            '<option value="worker">workers</option><option value="requester">requesters</option>'
            '</select></p><button class="btn primary" type="submit">Invite</button></form>'
            "</section>"
            f"<section><h2>Everybody</h2>{_texts(['name', 'link'], rows)}</section>"
        )


_INVITATION: Final = msgspec.json.Decoder(InvitationRequest)
_PASSWORD: Final = msgspec.json.Decoder(PasswordChange)
_CHANGE: Final = msgspec.json.Decoder(AccountChange)


def _login_page(said: str = "") -> Response:
    told = f'<div class="callout bad" role="alert"><p>{said}</p></div>' if said else ""
    body = (
        f'<section>{told}<form class="card" method="post" action="/office/login">'
        + field(
            "Password",
            "password",
            type="password",
            required=True,
            hint="The admin's; everybody else comes in by their link.",
            more=' autocomplete="current-password"',
        )
        + '<button class="btn primary" type="submit">Log in</button></form></section>'
    )
    status = 403 if said else 200
    return Response(document("Log in", body), status, HEADERS, media_type="text/html")


def _deeds(person: Person, check: str) -> str:
    if person.role == "admin":
        return ""
    one = f"{PEOPLE}/{person.id}"
    label, value = ("Keep out", "0") if person.is_active else ("Let in", "1")
    return (
        f'<div class="deeds">{button("New link", f"{one}/renew", check)}'
        f"{button(label, f'{one}/standing', check, fields=[('is_active', value)])}</div>"
    )


def _texts(head: list[str], rows: list[list[str]]) -> str:
    return f'<div class="texts">{table(head, rows)}</div>'


def _standing(person: Person) -> str:
    return f"<small>{person.role}{'' if person.is_active else ', kept out'}</small>"


def _secret(text: str) -> str:
    return f'<span class="secret">{esc(text)}</span>'


def _link(invited: Invitation, request: Request) -> str:
    kind = "/work/" if invited.person.role == "worker" else "/office/enter/"
    return f"{request.url.scheme}://{request.url.netloc}{kind}{invited.token}"


def _told(invited: Invitation, request: Request) -> dict[str, Any]:
    person = msgspec.to_builtins(invited.person)
    return {"person": person, "token": invited.token, "link": _link(invited, request)}


def _nobody() -> HttpError:
    return HttpError(404, "not_found", "There is nobody like that.")


def _paths() -> dict[str, Any]:
    text = {"type": "string"}
    checked = {"check": text}
    people = "/v1/office/people"
    return paths(
        {
            "/office/login": {
                "get": operation("The login", media="text/html"),
                "post": operation("Log in", form={"password": text}, status="303"),
            },
            "/office/enter/{token}": {
                "get": operation("Come in by a link", status="303"),
                "post": operation("Come in by a link", status="303"),
            },
            "/office/logout": {"post": operation("Log out", form=checked, status="303")},
            "/office": {"get": operation("What there is", media="text/html")},
            "/office/password": {
                "post": operation(
                    "Change the password", form={**checked, "old": text, "new": text}, status="303"
                )
            },
            "/v1/office/password": {"put": operation("Change the password", body=PasswordChange)},
            PEOPLE: {
                "get": operation("Everybody and their links", media="text/html"),
                "post": operation(
                    "Invite people",
                    form={**checked, "names": text, "role": text},
                    media="text/html",
                ),
            },
            f"{PEOPLE}/{{id}}/renew": {
                "post": operation("A new link", form=checked, media="text/html")
            },
            f"{PEOPLE}/{{id}}/standing": {
                "post": operation(
                    "Let in or keep out", form={**checked, "is_active": text}, status="303"
                )
            },
            people: {
                "get": operation("Everybody", answer=AccountList),
                "post": operation(
                    "Invite people", body=InvitationRequest, answer=Invitations, status="201"
                ),
            },
            f"{people}/{{id}}": {
                "patch": operation("Let in or keep out", body=AccountChange, answer=Person)
            },
            f"{people}/{{id}}/renew": {"post": operation("A new link", answer=Invitations)},
        },
        [AccountList, InvitationRequest, Invitations, PasswordChange, Person, AccountChange],
    )
