"""Accounts of crowd work: logging in, the overview, who is invited and who is blocked."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from errands.crowd.accounts.accounts import LOGIN_SECONDS, LONGEST_NAME, Invitation, Person, Role
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import table
from errands.web.core import elements as ui
from errands.web.core.auth import cookie
from errands.web.core.forms import SMALL_FORM, Form
from errands.web.core.http_errors import HttpError, bad_request, existing
from errands.web.crowd.auth import COOKIE, CrowdRequest, redirect
from errands.web.crowd.document import document, html_response
from errands.web.crowd.routes import Routes, api, open_page, page
from errands.web.crowd.site import CrowdSite, staff_response

__all__ = ["AccountRoutes"]

ACCOUNTS: Final = "/office/people"
_ONE: Final = f"{ACCOUNTS}/{{id:int}}"
_API: Final = "/v1/office/people"
_STAFF: Final[tuple[Role, ...]] = ("admin", "requester")
_NO_ACCOUNT: Final = "There is no such account."
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


class AccountRoutes(Routes):
    """Logging in and out, accounts and their links."""

    roles = ("admin",)

    def __init__(self, site: CrowdSite) -> None:
        super().__init__(site.auth)
        self._accounts = site.accounts

    @open_page("GET", "/office/login", "The login")
    async def login(self, request: Request, form: Form) -> Response:
        return _login_page()

    @open_page("POST", "/office/login", "Log in", form=["password"], most=SMALL_FORM)
    async def log_in(self, request: Request, form: Form) -> Response:
        person = await self._auth.admin(form.text("password"), request)
        if person is None:
            return _login_page("That is not the password.")
        return self._entered(request, person)

    @open_page("GET", "/office/enter/{token}", "Log in by a link", status=303)
    @open_page("POST", "/office/enter/{token}", "Log in by a link", status=303, most=SMALL_FORM)
    async def enter(self, request: Request, form: Form) -> Response:
        """A requester's link; a worker's leads to their work."""
        token = request.path_params["token"]
        message = "This link is not valid; ask for a new one."
        person = existing(self._accounts.by_token(token), message)
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

    @page("POST", "/office/logout", "Sign out", roles=_STAFF, form=["check"])
    async def log_out(self, request: CrowdRequest) -> Response:
        self._accounts.log_out(cookie(request.http.scope, COOKIE))
        response = redirect("/office/login")
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return response

    @page("GET", "/office", "Overview", roles=_STAFF)
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
            html('<div class="card"><h2><a href="{}">{}</a></h2><p>{}</p></div>', *card)
            for card in cards
        )
        return staff_response(
            "Overview",
            ui.section(html('<div class="cards">{}</div>', shown))
            + password
            + ui.actions(ui.button("Sign out", "/office/logout", request.check)),
            request,
            "/office",
        )

    @page("POST", "/office/password", "Change the password", form=["check", "old", "new"])
    async def password(self, request: CrowdRequest) -> Response:
        if await self._auth.admin(request.form.text("old"), request.http) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(request.form.text("new"))
        return redirect("/office/login")

    @api("PUT", "/v1/office/password", "Change the password")
    async def api_password(self, request: CrowdRequest, change: PasswordChange) -> dict[str, bool]:
        # Who sends this has come in with it, so there is nothing to guess.
        if self._accounts.proven_admin(change.old) is None:
            raise HttpError(403, "forbidden", "That is not the current password.")
        self._accounts.set_password(change.new)
        return {"done": True}

    @page("GET", ACCOUNTS, "All accounts")
    async def accounts(self, request: CrowdRequest) -> Response:
        return self._accounts_page(request)

    @page("POST", ACCOUNTS, "Invite people", form=["check", "names", "role"], media="text/html")
    async def invite(self, request: CrowdRequest) -> Response:
        names = [name for name in request.form.text("names").splitlines() if name.strip()]
        if len(names) > MOST_INVITED:
            raise bad_request(f"At most {MOST_INVITED} people at once.")
        role = request.form.text("role", "worker")
        invited = self._accounts.invite_all(names, role)  # type: ignore[arg-type]
        return self._accounts_page(request, invited)

    @page("POST", f"{_ONE}/renew", "A new link", form=["check"], media="text/html")
    async def renew(self, request: CrowdRequest) -> Response:
        return self._accounts_page(request, [self._renewed(request)])

    @page("POST", f"{_ONE}/standing", "Block or unblock", form=["check", "is_active"])
    async def change(self, request: CrowdRequest) -> Response:
        self._changed(request, request.form.text("is_active") == "1")
        return redirect(ACCOUNTS)

    @api("GET", _API, "All accounts")
    async def api_accounts(self, request: CrowdRequest) -> AccountList:
        return AccountList(self._accounts.everybody())

    @api("POST", _API, "Invite people", status=201)
    async def api_invite(self, request: CrowdRequest, people: InvitationRequest) -> Invitations:
        invited = self._accounts.invite_all(people.names, people.role)
        return Invitations([_record(one, request.http) for one in invited])

    @api("POST", f"{_API}/{{id:int}}/renew", "A new link")
    async def api_renew(self, request: CrowdRequest) -> Invitations:
        return Invitations([_record(self._renewed(request), request.http)])

    @api("PATCH", f"{_API}/{{id:int}}", "Block or unblock")
    async def api_change(self, request: CrowdRequest, change: AccountChange) -> Person:
        return self._changed(request, change.is_active)

    def _renewed(self, request: CrowdRequest) -> Invitation:
        return existing(self._accounts.renew(request.number("id")), _NO_ACCOUNT)

    def _changed(self, request: CrowdRequest, is_active: bool) -> Person:
        return existing(self._accounts.set_active(request.number("id"), is_active), _NO_ACCOUNT)

    def _accounts_page(self, request: CrowdRequest, invited: Sequence[Invitation] = ()) -> Response:
        links = [
            [one.person.name, html('<span class="secret">{}</span>', _link(one, request.http))]
            for one in invited
        ]
        new = html(
            '<section><div class="callout"><h2>New links</h2><p>They are shown only now: pass them'
            " on before you leave.</p>{}</div></section>",
            _texts(["name", "link"], links),
        )
        rows = [
            [_name(person), _account_actions(person, request.check)]
            for person in self._accounts.everybody()
        ]
        body = ui.fragment(
            new if invited else EMPTY,
            ui.section(_invitation_form(request.check), title="Invite"),
            ui.section(_texts(["name", "link"], rows), title="All accounts"),
        )
        return staff_response("Accounts", body, request, ACCOUNTS)


def _login_page(wrong: str = "") -> Response:
    body = ui.section(
        ui.callout(wrong, "bad", role="alert") if wrong else EMPTY,
        ui.form(
            "/office/login",
            ui.field(
                "Password",
                "password",
                type="password",
                required=True,
                hint="The admin's; everybody else logs in by their link.",
                autocomplete="current-password",
            ),
            ui.submit("Log in", "primary"),
        ),
    )
    return html_response(document("Log in", body), 403 if wrong else 200)


def _password_form(check: str) -> Markup:
    hint = "8 characters or more"
    return ui.section(
        html(
            '<details class="card"><summary>Change the password</summary>{}</details>',
            ui.form(
                "/office/password",
                ui.field("Current password", "old", type="password", required=True),
                ui.field("New password", "new", type="password", hint=hint, required=True),
                ui.submit("Change password"),
                check=check,
                kind="plain",
            ),
        )
    )


def _invitation_form(check: str) -> Markup:
    return ui.form(
        ACCOUNTS,
        ui.text_area(
            "Names", "names", hint="One a line; each gets a link of their own.", required=True
        ),
        ui.select("Role", "role", [("worker", "workers"), ("requester", "requesters")], "worker"),
        ui.submit("Invite", "primary"),
        check=check,
    )


def _name(person: Person) -> Markup:
    blocked = "" if person.is_active else ", blocked"
    role = "worker by a join link" if person.is_guest else person.role
    return html("{}<br><small>{}{}</small>", person.name, role, blocked)


def _account_actions(person: Person, check: str) -> Markup:
    if person.role == "admin":
        return EMPTY
    one = f"{ACCOUNTS}/{person.id}"
    label, value = ("Block", "0") if person.is_active else ("Unblock", "1")
    return ui.actions(
        ui.button("New link", f"{one}/renew", check),
        ui.button(label, f"{one}/standing", check, fields=[("is_active", value)]),
    )


def _texts(head: list[str], rows: list[list[Any]]) -> Markup:
    return html('<div class="texts">{}</div>', table(head, rows))


def _link(invited: Invitation, request: Request) -> str:
    kind = "/work/" if invited.person.role == "worker" else "/office/enter/"
    return f"{request.url.scheme}://{request.url.netloc}{kind}{invited.token}"


def _record(invited: Invitation, request: Request) -> dict[str, Any]:
    person = msgspec.to_builtins(invited.person)
    return {"person": person, "token": invited.token, "link": _link(invited, request)}
