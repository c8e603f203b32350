"""`errands serve` as a process of its own."""

import re
import subprocess
import sys

from shop_served import Shop

CODE = "from errands.cli import main; main()"


def started(*words: str) -> tuple["subprocess.Popen[str]", Shop]:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, "serve", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(
        r"Serving the shop and crowd work( and environments)? on http://127\.0\.0\.1:(\d+)\n", line
    )
    assert found, line + process.communicate()[1]
    return process, Shop(int(found[2]))
