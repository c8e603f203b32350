"""Tests may name modules beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
