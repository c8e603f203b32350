"""What a server does to its process when it starts."""

import re
import subprocess
import sys

CODE = """
import ctypes, sys, threading
from errands.web.core.limits import settle_threads

if sys.argv[1] == "settled":
    settle_threads()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
everybody = threading.Barrier(8)

def take():
    everybody.wait()
    held = [bytearray(5_000) for _ in range(2_000)]
    everybody.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
out = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, out)
libc.fclose(out)
"""


def heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return len(re.findall("<heap ", done.stdout))


def test_threads_share_a_heap() -> None:
    assert heaps("as it is") > 1
    assert heaps("settled") == 1
