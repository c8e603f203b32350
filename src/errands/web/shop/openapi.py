"""The website's page of the OpenAPI description."""

import re
from typing import Any, Final

__all__ = ["site_paths"]

Json = dict[str, Any]

_SVG: Final = "image/svg+xml"
_HTML: Final = "text/html"

_SCHEMAS: Final[dict[str, Json]] = {
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
_REFUSALS: Final = {
    "400": "The form or the chosen option makes no sense",
    "403": "The request comes from a page elsewhere",
    "404": "There is no such page, product or errand",
    "405": "Another method",
    "408": "The form did not arrive in time",
    "409": "The session has bought something else already",
    "413": "The form is too large",
    "414": "The address is too long",
    "503": "The shop is crowded, or cannot note what happens",
}


def site_paths() -> Json:
    """Paths and schemas; every page answers GET and POST alike."""
    where = "{session}/{asin}/{keywords}/{page}"
    search = _page("The search page", "/{session}")
    search["post"] = _operation("A search, which leads to its results", form=True)
    pages = {
        "/search_results/{session}/{keywords}/{page}": "A page of results",
        f"/item_page/{where}/{{options}}": "A product with chosen options",
        f"/item_sub_page/{where}/{{sub_page}}/{{options}}": "More about a product",
        "/done/{session}/{asin}/{options}": "Buys; then it is the score page",
    }
    picture = "/pictures/{kind}/{color}/{variant}.svg"
    return {
        "schemas": {},
        "paths": {
            "/": _page("Leads to a new session", "/", status="303"),
            "/{session}": search,
            **{path: _page(summary, path) for path, summary in pages.items()},
            picture: _page("A drawn picture", picture, media=_SVG),
        },
    }


def _page(summary: str, path: str, *, status: str = "200", media: str = _HTML) -> Json:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _SCHEMAS[name]}
        for name in re.findall(r"{(\w+)}", path)
    ]
    methods = {
        method: _operation(summary, status=status, media=media) for method in ("get", "post")
    }
    return {"parameters": parameters, **methods}


def _operation(
    summary: str, *, status: str = "200", media: str = _HTML, form: bool = False
) -> Json:
    text = {"schema": {"type": "string"}}
    responses: Json = {"303": {"description": "To the page that is meant"}}
    if status == "200":
        responses["200"] = {"description": "The page", "content": {media: text}}
    for refused, why in _REFUSALS.items():
        responses[refused] = {"description": why, "content": {_HTML: text}}
    operation: Json = {"summary": summary, "responses": responses}
    if form:
        field = {"type": "string", "maxLength": 1000}
        schema = {"type": "object", "properties": {"search_query": field}}
        operation["requestBody"] = {
            "content": {"application/x-www-form-urlencoded": {"schema": schema}}
        }
    return operation
