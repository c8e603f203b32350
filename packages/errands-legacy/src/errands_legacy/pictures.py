"""The original's picture features: a row of 512 numbers for each picture it knows."""

import importlib
from pathlib import Path
from typing import Any, Final

import numpy as np

from errands.errors import SettingError

__all__ = ["FEATURES", "PictureFeatures", "no_picture"]

FEATURES: Final = 512
"""Numbers that describe a picture."""


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def no_picture() -> Any:
    """Zeros, for a page without a picture that is known: a tensor where torch is installed."""
    torch = _torch()
    return np.zeros(FEATURES, np.float32) if torch is None else torch.zeros(FEATURES)


class PictureFeatures:
    """feat_conv.pt and feat_ids.pt: a matrix, and the addresses of the pictures of its rows."""

    def __init__(self, features: Path, addresses: Path) -> None:
        torch = _torch() if features.is_file() and addresses.is_file() else None
        if torch is None:
            raise SettingError(
                f"get_image needs torch and the original's files {features} and {addresses}; leave"
                " it out, and get_image() gives zeros."
            )
        self._rows = torch.load(features, weights_only=True)
        self._places = {
            address: row for row, address in enumerate(torch.load(addresses, weights_only=True))
        }

    def of(self, address: str) -> Any:
        """A picture's row, zeros if it is not known."""
        row = self._places.get(address)
        return no_picture() if row is None else self._rows[row]
