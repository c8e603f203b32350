"""What can go wrong at the boundary with a user, in one sentence each.

Every error that a user can cause derives from `ErrandsError`; its message says what was wrong,
what was expected and, where a command helps, what to run. The command line prints the message
and exits with 2; nothing else is caught there, so a traceback always means a defect of ours.
"""

__all__ = [
    "CatalogError",
    "DataError",
    "ErrandsError",
    "GoalError",
    "SettingError",
    "SplitOverlapWarning",
    "TaskError",
]


class ErrandsError(Exception):
    """Base of all errors that are explained to the user in one sentence."""


class DataError(ErrandsError):
    """A source file or download is missing, damaged or not of the expected form."""


class CatalogError(ErrandsError):
    """A catalogue cannot be built, found or opened."""


class SettingError(ErrandsError, ValueError):
    """An argument has a value that is not possible."""


class GoalError(ErrandsError, ValueError):
    """A goal set, split, goal index or goal file does not exist or does not fit."""


class TaskError(DataError):
    """A folder is not a usable task: a file is missing, unreadable or makes no sense."""


class SplitOverlapWarning(UserWarning):
    """Goals of one product are on both sides of a split: what is trained on is tested on."""
