"""Puts the tables of `errands experiment calibration` into the docs, between their marks.

make calibration        # full size and the demo's, three seeds each, then this: half an hour
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "catalogs.md"
TABLE = re.compile(r"(<!-- calibration -->\n).*?(<!-- end -->)", re.S)


def main(folders: list[Path]) -> None:
    made = "\n\n".join((folder / "calibration.md").read_text("utf-8").strip() for folder in folders)
    page = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda match: f"{match[1]}{made}\n{match[2]}", page), "utf-8")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
