"""What a server does to its process when it starts."""

import re
import subprocess
import sys

import pytest

from errands.errors import SettingError
from errands.web.core.limits import listen

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


def number(code: str, how: str) -> int:
    done = subprocess.run([sys.executable, "-c", code, how], capture_output=True, text=True)
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
    assert number(BLOCKS, "as it is") == 0
    assert number(BLOCKS, "settled") >= 8_000_000


HOLES = """
import re, sys
from pathlib import Path
from errands.web.core.limits import return_memory, settle_memory

def own() -> int:
    return 1024 * int(re.search(r"RssAnon:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1])

settle_memory()
held = [bytearray(100_000) for _ in range(600)]
del held[: 590]  # What lies behind stays.
before = own()
if sys.argv[1] == "settled":
    return_memory()
print(before - own())
"""


def test_what_is_free_in_the_midst_of_the_heap_is_given_back() -> None:
    assert number(HOLES, "as it is") < 1_000_000
    assert number(HOLES, "settled") > 40_000_000


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "\udcff", "300.0.0.1.", "[::1]", "\0"])
def test_no_address_to_listen_on_is_one_sentence(host: str) -> None:
    with pytest.raises(SettingError, match=r"cannot be listened on .*; choose another port"):
        listen(host, 0)
