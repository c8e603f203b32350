"""The OpenAPI description of the shop's website."""

from typing import Final

from errands.web.core.openapi import Json, operation, paths

__all__ = ["site_paths"]

_PARAMETERS: Final[dict[str, Json]] = {
    "session": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    "keywords": {"type": "string", "minLength": 1, "examples": ["['red', 'shoes']"]},
    "page": {"type": "integer", "minimum": 1, "maximum": 999_999},
    "asin": {"type": "string", "minLength": 1, "maxLength": 10},
    "options": {"type": "string", "minLength": 2, "examples": ["{'color': 'red'}"]},
    "sub_page": {
        "type": "string",
        "enum": ["Description", "Features", "Reviews", "Attributes"],
    },
    "kind": {"type": "string", "pattern": "^[a-z]{1,20}$"},
    "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
    "variant": {"type": "integer", "minimum": 0, "maximum": 999_999},
}
_ERRORS: Final = {
    "400": "The form or the chosen option makes no sense",
    "403": "The request comes from a page elsewhere",
    "404": "There is no such page, product or goal",
    "405": "Another method",
    "408": "The form did not arrive in time",
    "409": "The session has bought something else already",
    "413": "The form is too large",
    "414": "The address is too long",
    "503": "The server is busy, or cannot log what happens",
}


def site_paths() -> Json:
    """Paths and schemas; every page answers GET and POST alike."""
    item = "{session}/{asin}/{keywords}/{page}"
    query = {"search_query": {"type": "string", "maxLength": 1000}}
    pages = {
        "/": _page("Leads to a new session", status="303"),
        "/{session}": {
            **_page("The search page"),
            "post": _operation("A search, which leads to its results", form=query),
        },
        "/search_results/{session}/{keywords}/{page}": _page("A page of results"),
        f"/item_page/{item}/{{options}}": _page("A product with chosen options"),
        f"/item_sub_page/{item}/{{sub_page}}/{{options}}": _page("More about a product"),
        "/done/{session}/{asin}/{options}": _page("Buys; then it is the score page"),
        "/pictures/{kind}/{color}/{variant}.svg": _page("A drawn picture", media="image/svg+xml"),
    }
    return paths(pages, parameters=_PARAMETERS)


def _page(summary: str, *, status: str = "200", media: str = "text/html") -> Json:
    operation = _operation(summary, status=status, media=media)
    return {"get": operation, "post": operation}


def _operation(
    summary: str, *, status: str = "200", media: str = "text/html", form: Json | None = None
) -> Json:
    described = operation(
        summary, status=status, media=media, form=form, errors=_ERRORS, error_media="text/html"
    )
    described["responses"]["303"] = {"description": "To the page that is meant"}
    return described
