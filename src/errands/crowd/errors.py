"""Why people and programs are refused, whichever part of crowd work they ask."""

from errands.errors import ErrandsError

__all__ = ["Conflict", "NotAllowed", "NotFound"]


class NotFound(ErrandsError):
    """It does not exist, or it is somebody else's."""


class NotAllowed(ErrandsError):
    """They may not do that now."""


class Conflict(ErrandsError):
    """It was done already, or cannot be done any more."""

    def __init__(self, message: str, code: str = "conflict") -> None:
        super().__init__(message)
        self.code = code
        """For programs: which conflict."""
