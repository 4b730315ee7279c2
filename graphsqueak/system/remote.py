"""Files at addresses (s3://, gs://, az://, https://, memory://), through fsspec.

What is read is asked for in pieces. What is written is made on disk first and sent when it is
whole, so that there is never a half of it at its address. fsspec and what a kind of address needs
beside it (s3fs, gcsfs, adlfs, aiohttp) come with the extra `remote`.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from graphsqueak.errors import InputError

__all__ = ["ADDRESS", "exists", "file_system", "read_bytes", "sent_file"]

ADDRESS = re.compile(r"[a-zA-Z0-9]+://")  # matches what is an address, not a name on disk


def file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the name of the file there."""
    copying = {"s3": f"aws s3 cp {address} -", "gs": f"gcloud storage cat {address}"}
    line = copying.get(address.partition("://")[0], f"curl -L {address}")
    try:
        import fsspec

        return fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise InputError(
            f"{address} needs a package ({error}): pip install 'graphsqueak[remote]', or pipe it "
            f"in: {line} | graphsqueak info -"
        ) from None
    except ValueError as error:
        raise InputError(f"{address}: {error}; save it first, and give the file") from None


def exists(path: str | os.PathLike) -> bool:
    """Whether there is a file, on disk or at an address."""
    if not ADDRESS.match(str(path)):
        return Path(path).exists()
    system, key = file_system(str(path))
    with _told(path):
        return bool(system.exists(key))


def read_bytes(path: str | os.PathLike) -> bytes:
    """All of a file, on disk or at an address; an OSError if it is not there."""
    if not ADDRESS.match(str(path)):
        return Path(path).read_bytes()
    system, key = file_system(str(path))
    return system.cat_file(key)


@contextmanager
def sent_file(address: str) -> Iterator[IO[bytes]]:
    """A file on disk that is sent to an address at the end; on failure nothing is."""
    system, key = file_system(address)
    with tempfile.NamedTemporaryFile() as file:
        yield file
        file.flush()
        with _told(address):
            system.put_file(file.name, key)


@contextmanager
def _told(address):
    """What a service refuses, in one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # every service has its own
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{address} cannot be reached: {reason}; check the address and your access to it"
        ) from None
