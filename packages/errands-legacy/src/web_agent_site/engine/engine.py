"""The original's functions for loading and searching."""

from errands_legacy.engine import *  # noqa: F403
from errands_legacy.engine import __all__ as __all__
