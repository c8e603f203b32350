"""What can go wrong at the boundary with a user, in one sentence each.

Every error that a user can cause derives from `ErrandsError`; its message says what was wrong,
what was expected and, where a command helps, what to run. The command line prints the message
and exits with its status, mostly 2; nothing else is caught there, so a traceback always means a
defect of ours.
"""

from typing import Any, ClassVar, Final

__all__ = [
    "CatalogError",
    "DamageError",
    "DataError",
    "ErrandsError",
    "GoalError",
    "PageError",
    "SettingError",
    "SplitOverlapWarning",
    "TaskError",
    "shortened",
]

_LONGEST: Final = 2000
_LONGEST_WORD: Final = 400
"""Characters without a blank, more than any path or address has that somebody would read."""


class ErrandsError(Exception):
    """Base of all errors that are explained to the user in one sentence."""

    exit_status: ClassVar[int] = 2
    """Of a command that ends with it."""

    def __init__(self, *arguments: Any) -> None:
        # Whatever is quoted, and by whom: a sentence quotes values of files, pages and requests.
        super().__init__(*(shortened(one) if isinstance(one, str) else one for one in arguments))


def shortened(sentence: str) -> str:
    """A sentence that people can read, whatever is quoted in it: long words lose their middle, and
    then the sentence does if it is still too long.

    >>> shortened(f"There is no task {'x' * 1000}; expected demo.")[285:319]
    'xxx[... of 1,001 characters ...]xx'
    """
    if len(sentence) <= _LONGEST_WORD:
        return sentence
    return _cut(" ".join(_cut(word, _LONGEST_WORD) for word in sentence.split(" ")), _LONGEST)


def _cut(text: str, most: int) -> str:
    """A text without its middle, if it is too long."""
    if len(text) <= most:
        return text
    left_out = f"[... of {len(text):,} characters ...]"
    tail = most // 4
    return f"{text[: most - tail - len(left_out)]}{left_out}{text[-tail:]}"


class DataError(ErrandsError):
    """A source file or download is missing, damaged or not of the expected form."""


class CatalogError(ErrandsError):
    """A catalogue cannot be built, found or opened."""


class DamageError(CatalogError):
    """A catalogue's bytes are not those that it was built with."""

    exit_status = 1


class SettingError(ErrandsError, ValueError):
    """An argument has a value that is not possible."""


class GoalError(ErrandsError, ValueError):
    """A goal set, split, goal index or goal file does not exist or does not fit."""


class TaskError(DataError):
    """A folder is not a usable task: a file is missing, unreadable or makes no sense."""


class PageError(ErrandsError):
    """A page is not what it should be, or was not understood: nobody is to be scored for that."""

    exit_status = 1


class SplitOverlapWarning(UserWarning):
    """Goals of one product are on both sides of a split: what is trained on is tested on."""
