"""How worker processes of Errands begin."""

from typing import Final

__all__ = ["child_code"]

_CODE: Final = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
except (ImportError, OSError, AttributeError):
    pass
if os.getppid() == int(sys.argv[2]):
    from {module} import {function}
    {function}({arguments})
"""


def child_code(module: str, function: str, arguments: str = "") -> str:
    """What `python -c` runs in a worker, whose second argument is its parent's process id.

    Before anything else is imported, which takes a while, Linux is asked to end the worker when its
    parent ends, however that comes about; elsewhere the end of its input tells. Ctrl-C reaches all
    processes of a terminal: it is the parent's to answer.
    """
    return _CODE.format(module=module, function=function, arguments=arguments)
