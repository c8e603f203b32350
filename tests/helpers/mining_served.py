"""A review on a free port, in a thread of the tests."""

import contextlib
import http.client
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from errands.mining.candidates import AttributeCandidate, Candidates, InGroup
from errands.mining.decisions import Decisions
from errands.mining.proposal import Proposal
from errands.mining.review import Review
from errands.web.core.auth import AuthMiddleware
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.review.mining import mining_site

NASTY = "</h2><script>alert(1)</script>"


def candidates() -> Candidates:
    """Five candidates, the last of which is malicious."""
    made = [
        ("easy clean", "which is", "a quality: easy", "The glass is easy to clean & light"),
        ("dry skin", "good for", "whom or what it is for: skin", "For dry, sensitive skin"),
        ("oz ml", "drop", "measures something: oz", "12 oz 355 ml"),
        ("wide handle", "has", "a part or a material: handle", "A wide handle"),
        (NASTY, "is a", NASTY, NASTY),
    ]
    return Candidates(
        by="category",
        top=200,
        size=2,
        fields=("title",),
        products=90,
        groups={"kitchen": 60, "beauty": 30},
        thin=0,
        candidates=tuple(
            AttributeCandidate(
                phrase=phrase,
                score=0.05,
                products=12,
                groups=(InGroup("kitchen", 1, 0.05, 10), InGroup(f"beauty {NASTY}", 4, 0.02, 2)),
                examples=(example, example),
                proposal=Proposal(use, reason),
            )
            for phrase, use, reason, example in made
        ),
    )


class Served:
    """A running review: where it is, and what is behind it."""

    def __init__(self, review: Review, port: int) -> None:
        self.review = review
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def ask(
        self, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, str]:
        """Status, where it leads, and the page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if form is None:
            connection.request("GET", path, headers=sent)
        else:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", path, urlencode(form), sent)
        answer = connection.getresponse()
        page = answer.read().decode()
        connection.close()
        return answer.status, answer.headers.get("location", ""), page

    def check(self) -> str:
        found = re.search(r'name="check" value="([^"]+)"', self.ask("/mining")[2])
        assert found
        return found[1]


@contextlib.contextmanager
def served(decisions: Path, mined: Candidates | None = None) -> Iterator[Served]:
    with Decisions(decisions) as held, listen("127.0.0.1", 0) as listening:
        review = Review(mined or candidates(), held)
        started = threading.Event()
        server = Server([mining_site(review)], AuthMiddleware(), ServerLimits(), started.set)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert started.wait(60)
            yield Served(review, listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(60)
