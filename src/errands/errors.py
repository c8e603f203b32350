"""What can go wrong at the boundary with a user, in one sentence each.

Every error that a user can cause derives from `ErrandsError`; its message says what was wrong,
what was expected and, where a command helps, what to run. The command line prints the message
and exits with its status, mostly 2; nothing else is caught there, so a traceback always means a
defect of ours.
"""

from typing import ClassVar

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
]


class ErrandsError(Exception):
    """Base of all errors that are explained to the user in one sentence."""

    exit_status: ClassVar[int] = 2
    """Of a command that ends with it."""


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
