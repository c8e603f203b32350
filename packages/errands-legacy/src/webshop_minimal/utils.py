"""webshop-minimal's `utils`: which of the two data sets is meant, and small functions."""

from errands_legacy.helpers import generate_mturk_code, random_idx, setup_logger
from errands_legacy.sources import default_files

from errands.errors import SettingError

__all__ = [
    "DEFAULT_ATTR_PATH",
    "DEFAULT_FILE_PATH",
    "HUMAN_ATTR_PATH",
    "generate_mturk_code",
    "get_attr_path",
    "get_file_path",
    "get_human_attr_path",
    "init_basedir",
    "random_idx",
    "setup_logger",
]

DEFAULT_FILE_PATH = ""
DEFAULT_ATTR_PATH = ""
HUMAN_ATTR_PATH = str(default_files().human)


def init_basedir(dataset: str = "small") -> None:
    """Choose the data set `small` (1,000 products) or `full` for environments made from now on.

    Both are looked for where `errands data` puts them; without them the demo is played.
    """
    global DEFAULT_ATTR_PATH, DEFAULT_FILE_PATH, HUMAN_ATTR_PATH
    if dataset not in ("small", "full"):
        raise SettingError(f"dataset={dataset!r}: expected 'small' or 'full'.")
    files = default_files(dataset)
    DEFAULT_FILE_PATH, DEFAULT_ATTR_PATH, HUMAN_ATTR_PATH = map(str, files)


def get_file_path() -> str:
    return DEFAULT_FILE_PATH


def get_attr_path() -> str:
    return DEFAULT_ATTR_PATH


def get_human_attr_path() -> str:
    return HUMAN_ATTR_PATH
