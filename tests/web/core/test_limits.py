"""What a server does to its process when it starts."""

import re
import subprocess
import sys

CODE = """
import ctypes, sys, threading
from errands.web.core.limits import settle_memory

if sys.argv[1] == "settled":
    settle_memory()
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


BLOCKS = """
import ctypes, sys
from errands.web.core.limits import settle_memory

class Blocks(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

if sys.argv[1] == "settled":
    settle_memory()
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Blocks
del (first := [bytearray(16_000_000)])[:]
mapped = libc.mallinfo2().hblkhd
second = bytearray(8_000_000)
print(libc.mallinfo2().hblkhd - mapped)
"""


def mapped(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", BLOCKS, how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return len(re.findall("<heap ", done.stdout))


def test_threads_share_a_heap() -> None:
    assert heaps("as it is") > 1
    assert heaps("settled") == 1


def test_a_large_block_does_not_stay_in_the_heap() -> None:
    assert mapped("as it is") == 0
    assert mapped("settled") >= 8_000_000
