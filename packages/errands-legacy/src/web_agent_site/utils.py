"""The original's `utils`: where files are, and small functions.

Paths that are written here in place of the three of `FILES` are those of environments made from
then on.
"""

from typing import Final

from errands_legacy.helpers import generate_mturk_code, random_idx, setup_logger
from errands_legacy.sources import default_files

from errands.home import data_dir

__all__ = [
    "BASE_DIR",
    "DEBUG_PROD_SIZE",
    "DEFAULT_ATTR_PATH",
    "DEFAULT_FILE_PATH",
    "DEFAULT_REVIEW_PATH",
    "FEAT_CONV",
    "FEAT_IDS",
    "HUMAN_ATTR_PATH",
    "generate_mturk_code",
    "random_idx",
    "setup_logger",
]

FILES: Final = default_files()

BASE_DIR: Final = str(data_dir("webshop-1k"))
"""Where `errands data webshop-1k` puts files; what is not there is played in the demo."""
DEBUG_PROD_SIZE: Final = None
DEFAULT_FILE_PATH = str(FILES.items)
DEFAULT_ATTR_PATH = str(FILES.attributes)
HUMAN_ATTR_PATH = str(FILES.human)
DEFAULT_REVIEW_PATH: Final = str(FILES.items.with_name("reviews.json"))
"""Of reviews, which nothing reads, in the original neither."""
FEAT_CONV: Final = str(FILES.items.with_name("feat_conv.pt"))
FEAT_IDS: Final = str(FILES.items.with_name("feat_ids.pt"))
