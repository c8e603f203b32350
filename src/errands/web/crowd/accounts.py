"""Accounts of crowd work: logging in, the overview, who is invited and who is blocked."""

from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import LOGIN_SECONDS, LONGEST_NAME, Invitation, Person, Role
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import table
from errands.web.core.forms import Form
from errands.web.core.http_errors import HttpError
from errands.web.crowd.auth import COOKIE, CrowdRequest, json_response, redirect
from errands.web.crowd.document import (
    actions,
    button,
    callout,
    document,
    field,
    form,
    html_response,
    section,
    select,
    submit,
    text_area,
)
from errands.web.crowd.routes import Routes
from errands.web.crowd.site import CrowdSite, staff_page

__all__ = ["account_routes"]

ACCOUNTS: Final = "/office/people"
_API: Final = "/v1/office/people"
_STAFF: Final[tuple[Role, ...]] = ("admin", "requester")
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


def account_routes(site: CrowdSite) -> Routes:
    """Logging in and out, accounts and their links."""
    pages = _AccountPages(site)
    routes = Routes(site.auth, "admin")
    one, api_one = f"{ACCOUNTS}/{{id:int}}", f"{_API}/{{id:int}}"
    routes.open_page("GET", "/office/login", pages.login, "The login")
    routes.open_page("POST", "/office/login", pages.log_in, "Log in", form=["password"])
    for method in ("GET", "POST"):
        enter = "/office/enter/{token}"
        routes.open_page(method, enter, pages.enter, "Log in by a link", status="303")
    routes.page("POST", "/office/logout", pages.log_out, "Sign out", roles=_STAFF, form=["check"])
    routes.page("GET", "/office", pages.overview, "Overview", roles=_STAFF)
    passwords = ["check", "old", "new"]
    summary = "Change the password"
    routes.page("POST", "/office/password", pages.password, summary, form=passwords)
    routes.api("PUT", "/v1/office/password", pages.api_password, summary, body=PasswordChange)
    routes.page("GET", ACCOUNTS, pages.accounts, "All accounts")
    routes.page(
        "POST",
        ACCOUNTS,
        pages.invite,
        "Invite people",
        form=["check", "names", "role"],
        media="text/html",
    )
    routes.page(
        "POST", f"{one}/renew", pages.renew, "A new link", form=["check"], media="text/html"
    )
    routes.page(
        "POST", f"{one}/standing", pages.change, "Block or unblock", form=["check", "is_active"]
    )
    routes.api("GET", _API, pages.api_accounts, "All accounts", answer=AccountList)
    routes.api(
        "POST",
        _API,
        pages.api_invite,
        "Invite people",
        body=InvitationRequest,
        answer=Invitations,
        status="201",
    )
    routes.api(
        "PATCH", api_one, pages.api_change, "Block or unblock", body=AccountChange, answer=Person
    )
    routes.api("POST", f"{api_one}/renew", pages.api_renew, "A new link", answer=Invitations)
    return routes


class _AccountPages:
    def __init__(self, site: CrowdSite) -> None:
        self._accounts = site.accounts
        self._auth = site.auth

    async def login(self, request: Request, form: Form) -> Response:
        return _login_page()

    async def log_in(self, request: Request, form: Form) -> Response:
        person = await self._auth.admin(form.text("password"), request)
        if person is None:
            return _login_page("That is not the password.")
        return self._entered(request, person)

    async def enter(self, request: Request, form: Form) -> Response:
        """A requester's link; a worker's leads to their work."""
        token = request.path_params["token"]
        person = self._accounts.by_token(token)
        if person is None:
            raise HttpError(404, "not_found", "This link is not valid; ask for a new one.")
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
        cards = [("/office/projects", "Projects", "Tasks for workers: publish, watch, download.")]
        password = EMPTY
        if request.person.role == "admin":
            cards += [
                ("/office/instructions", "Instructions", "What people write about products."),
                ("/office/demonstrations", "Demonstrations", "How people shop, and how well."),
                (ACCOUNTS, "Accounts", "Requesters and workers, and their links."),
            ]
            password = _password_form(request.check)
        shown = join(
            html(
                '<div class="card"><h2><a href="{}">{}</a></h2><p>{}</p></div>',
                *(address, title, text),
            )
            for address, title, text in cards
        )
        body = join(
            (
                section(html('<div class="cards">{}</div>', shown)),
                password,
                actions(button("Sign out", "/office/logout", request.check)),
            )
        )
        return staff_page("Overview", body, request, "/office")

    async def password(self, request: CrowdRequest) -> Response:
        if await self._auth.admin(request.form.text("old"), request.http) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(request.form.text("new"))
        return redirect("/office/login")

    async def accounts(self, request: CrowdRequest) -> Response:
        return self._accounts_page(request)

    async def invite(self, request: CrowdRequest) -> Response:
        names = [name for name in request.form.text("names").splitlines() if name.strip()]
        if len(names) > MOST_INVITED:
            raise HttpError(400, "bad_request", f"At most {MOST_INVITED} people at once.")
        role = request.form.text("role", "worker")
        invited = self._accounts.invite_all(names, role)  # type: ignore[arg-type]
        return self._accounts_page(request, invited)

    async def renew(self, request: CrowdRequest) -> Response:
        return self._accounts_page(request, [self._renewed(request)])

    async def change(self, request: CrowdRequest) -> Response:
        self._changed(request, request.form.text("is_active") == "1")
        return redirect(ACCOUNTS)

    async def api_password(self, request: CrowdRequest) -> Response:
        change = request.read(_PASSWORD)
        # Who sends this has come in with it, so there is nothing to guess.
        if self._accounts.proven_admin(change.old) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(change.new)
        return json_response({"done": True})

    async def api_accounts(self, request: CrowdRequest) -> Response:
        return json_response(AccountList(self._accounts.everybody()))

    async def api_invite(self, request: CrowdRequest) -> Response:
        names = request.read(_INVITATION)
        invited = self._accounts.invite_all(names.names, names.role)
        return json_response(Invitations([_record(one, request.http) for one in invited]), 201)

    async def api_renew(self, request: CrowdRequest) -> Response:
        return json_response(Invitations([_record(self._renewed(request), request.http)]))

    async def api_change(self, request: CrowdRequest) -> Response:
        return json_response(self._changed(request, request.read(_CHANGE).is_active))

    def _renewed(self, request: CrowdRequest) -> Invitation:
        invited = self._accounts.renew(request.number("id"))
        if invited is None:
            raise _no_account()
        return invited

    def _changed(self, request: CrowdRequest, is_active: bool) -> Person:
        person = self._accounts.set_active(request.number("id"), is_active)
        if person is None:
            raise _no_account()
        return person

    def _accounts_page(
        self, request: CrowdRequest, invited: list[Invitation] | None = None
    ) -> Response:
        new = EMPTY
        if invited:
            rows = [
                [one.person.name, html('<span class="secret">{}</span>', _link(one, request.http))]
                for one in invited
            ]
            new = section(
                html(
                    '<div class="callout"><h2>New links</h2><p>They are shown only now: pass them'
                    " on before you leave.</p>{}</div>",
                    _texts(["name", "link"], rows),
                )
            )
        rows = [
            [_name(person), _account_actions(person, request.check)]
            for person in self._accounts.everybody()
        ]
        body = join(
            (
                new,
                section(_invitation_form(request.check), title="Invite"),
                section(_texts(["name", "link"], rows), title="All accounts"),
            )
        )
        return staff_page("Accounts", body, request, ACCOUNTS)


_INVITATION: Final = msgspec.json.Decoder(InvitationRequest)
_PASSWORD: Final = msgspec.json.Decoder(PasswordChange)
_CHANGE: Final = msgspec.json.Decoder(AccountChange)


def _login_page(wrong: str = "") -> Response:
    body = section(
        callout(wrong, "bad", role="alert") if wrong else EMPTY,
        form(
            "/office/login",
            field(
                "Password",
                "password",
                type="password",
                required=True,
                hint="The admin's; everybody else logs in by their link.",
                more=html(' autocomplete="current-password"'),
            ),
            submit("Log in", "primary"),
        ),
    )
    return html_response(document("Log in", body), 403 if wrong else 200)


def _password_form(check: str) -> Markup:
    hint = "8 characters or more"
    return section(
        html(
            '<details class="card"><summary>Change the password</summary>{}</details>',
            form(
                "/office/password",
                field("Current password", "old", type="password", required=True),
                field("New password", "new", type="password", hint=hint, required=True),
                submit("Change password"),
                check=check,
                kind="plain",
            ),
        )
    )


def _invitation_form(check: str) -> Markup:
    return form(
        ACCOUNTS,
        text_area(
            "Names", "names", hint="One a line; each gets a link of their own.", required=True
        ),
        select("Role", "role", [("worker", "workers"), ("requester", "requesters")], "worker"),
        submit("Invite", "primary"),
        check=check,
    )


def _name(person: Person) -> Markup:
    blocked = "" if person.is_active else ", blocked"
    return html("{}<br><small>{}{}</small>", person.name, person.role, blocked)


def _account_actions(person: Person, check: str) -> Markup:
    if person.role == "admin":
        return EMPTY
    one = f"{ACCOUNTS}/{person.id}"
    label, value = ("Block", "0") if person.is_active else ("Unblock", "1")
    return actions(
        button("New link", f"{one}/renew", check),
        button(label, f"{one}/standing", check, fields=[("is_active", value)]),
    )


def _texts(head: list[str], rows: list[list[Any]]) -> Markup:
    return html('<div class="texts">{}</div>', table(head, rows))


def _link(invited: Invitation, request: Request) -> str:
    kind = "/work/" if invited.person.role == "worker" else "/office/enter/"
    return f"{request.url.scheme}://{request.url.netloc}{kind}{invited.token}"


def _record(invited: Invitation, request: Request) -> dict[str, Any]:
    person = msgspec.to_builtins(invited.person)
    return {"person": person, "token": invited.token, "link": _link(invited, request)}


def _no_account() -> HttpError:
    return HttpError(404, "not_found", "There is no such account.")
