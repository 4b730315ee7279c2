"""Memory: usage of the process, memory of the machine, and sizes as text."""

import ctypes
import re
import sys
from contextlib import suppress
from pathlib import Path

from graphsqueak.errors import InputError


def peak_rss() -> int:
    """Return the peak memory of this process, in bytes."""
    # Linux's own figure is preferred: getrusage starts from that of the parent process.
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if found:
            return 1024 * int(found[1])
    try:
        import resource
    except ImportError:
        # Windows has no such module, and psutil has its figure.
        import psutil

        return psutil.Process().memory_info().peak_wset
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, other systems KiB.
    return peak if sys.platform == "darwin" else 1024 * peak


def available_memory() -> int:
    """Return the bytes that this process can still allocate."""
    try:
        with open("/proc/meminfo", "rb") as file:
            lines = dict(line.split(b":") for line in file)
        return int(lines[b"MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        import psutil

        return psutil.virtual_memory().available


def release_memory() -> None:
    """Return freed memory to the system, if the allocators support it.

    >>> release_memory()
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    # Only glibc has malloc_trim. On Windows, CDLL(None) is a TypeError.
    with suppress(AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def check_fits(n_bytes: int, what: str) -> None:
    """Raise an InputError if something needs more memory than is available.

    >>> check_fits(10**18, "a graph of 10^16 nodes")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: a graph of 10^16 nodes needs ... GiB of memory; ...
    """
    free = available_memory()
    if n_bytes > free:
        raise InputError(
            f"{what} needs {n_bytes / 2**30:,.1f} GiB of memory; {free / 2**30:,.1f} GiB are free: "
            "use a larger machine, or check the number"
        )


def size_in_bytes(text: str) -> int:
    """Return the bytes of a size such as "2GB"; a number without a unit is in GiB.

    >>> size_in_bytes("2GB"), size_in_bytes("512 MiB"), size_in_bytes("1.5")
    (2000000000, 536870912, 1610612736)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?)?\s*", text.lower())
    if match is None:
        raise InputError(f"{text!r} is not a memory size; write it as 2GB or 512MiB")
    number, letter, binary = match.groups()
    base = 1000 if letter and not binary else 1024
    return int(float(number) * base ** ("kmgt".index(letter or "g") + 1))


def readable_size(n_bytes: int) -> str:
    """Return a number of bytes as text.

    >>> readable_size(3 << 29), readable_size(3 << 19), readable_size(12)
    ('1.5 GiB', '1.5 MiB', '12 bytes')
    """
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes} bytes"
