"""The original data sets: which files they are, and how to get them onto this machine.

Nothing of WebShop or TurkingBench is shipped with Errands, and the authors' own links are dead,
so a data set comes from a place that the user names: a web server or a folder. Whatever the
place, the files are compared with what is known of them before they get their final names.
"""

from errands.data.download import RetryPolicy
from errands.data.fetch import FetchReport, FileReport, fetch
from errands.data.sets import DATASETS, Dataset, KnownFile, Version, find_dataset

__all__ = [
    "DATASETS",
    "Dataset",
    "FetchReport",
    "FileReport",
    "KnownFile",
    "RetryPolicy",
    "Version",
    "fetch",
    "find_dataset",
]
