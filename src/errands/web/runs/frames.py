"""A page that an agent saw, as it may be shown: in a frame that runs nothing and loads nothing.

Pages are other people's. The frame's sandbox and the policy sent with the page keep it from
acting; what would only try is taken out beforehand, and so is where its links lead.
"""

from typing import Final

from selectolax.lexbor import LexborHTMLParser

from errands.reports.html.frames import PAGE_POLICY

__all__ = ["FRAME_HEADERS", "still_page"]

FRAME_HEADERS: Final = {
    "Content-Security-Policy": f"sandbox; {PAGE_POLICY}; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "SAMEORIGIN",
}
_GONE: Final = (
    *("script", "noscript", "template", "link", "base", "meta", "iframe", "frame", "frameset"),
    *("object", "embed", "applet", "audio", "video", "source", "track"),
)
_ADDRESSES: Final = frozenset(
    {"src", "srcset", "href", "xlink:href", "action", "formaction", "background", "poster", "data",
     "ping", "srcdoc", "autofocus"}
)  # fmt: skip
_STILL: Final = (
    "<style>a,button,input,label,select,textarea,summary{pointer-events:none!important}</style>"
)


def still_page(html: str) -> bytes:
    """The page without what acts."""
    clean = html.encode("utf-8", "replace").decode()
    tree = LexborHTMLParser(clean)
    for node in tree.css(",".join(_GONE)):
        node.decompose()
    for node in tree.css("*"):
        for name, value in list(node.attributes.items()):
            low = name.lower()
            drawn = low == "src" and (value or "").lstrip().lower().startswith("data:image/")
            if low.startswith("on") or (low in _ADDRESSES and not drawn):
                del node.attrs[name]
    body = tree.html or ""
    return f'<!DOCTYPE html><meta charset="utf-8">{_STILL}{body}'.encode("utf-8", "replace")
