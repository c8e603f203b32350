"""What can be searched for, given an instruction: a few queries that a policy chooses among.

    candidates("i need a gb 522 eyeshadow palette for sensitive eyes, and price lower than ...")
    # ["gb 522 gb522 eyeshadow palette sensitive eyes", "gb 522 eyeshadow", ...]

People write `64 gb` where a listing says `64gb`, and too many words bring up products that have
some of each. So the first query has numbers joined with their neighbours, too, and the others
are parts of the instruction.
"""

from itertools import pairwise

from errands.agents.page_reading import read_instruction
from errands.learn.data.view import ChoiceView, with_actions

__all__ = ["candidates", "own_words", "with_queries"]


def own_words(instruction: str) -> list[str]:
    """The words of an instruction that say something, as the only query."""
    request = read_instruction(instruction)
    return [" ".join(request.words) or request.text]


def candidates(instruction: str) -> list[str]:
    """Different queries for an instruction; none where it says nothing.

    >>> candidates("I need 2 red hats")[0]
    '2 red hats 2red'
    """
    words = list(read_instruction(instruction).words)
    if not words:
        return [query for query in own_words(instruction) if query.strip()]
    joined = [f"{one}{other}" for one, other in pairwise(words) if _has_digit(one + other)]
    half = max(1, len(words) // 2)
    parts = ([*words, *joined], words[:half], words[half:], words)
    queries = (" ".join(part).replace("[", " ") for part in parts if part)
    return list(dict.fromkeys(queries))


def with_queries(view: ChoiceView, instruction: str) -> ChoiceView:
    """The view of a search page with queries as what can be done there; others as they are."""
    queries = candidates(instruction) if view.kind == "search" else []
    return with_actions(view, queries) if queries else view


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)
