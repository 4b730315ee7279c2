"""Files on disk and at addresses (s3://, gs://, az://, https://, memory://), through fsspec.

What is read is asked for in pieces. What is written is made on disk first and sent when it is
whole, so that there is never a half of it at its address. fsspec and what a kind of address needs
beside it (s3fs, gcsfs, adlfs, aiohttp) come with the extra `remote`.
"""

import glob
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from graphsqueak.errors import InputError

__all__ = [
    "ADDRESS",
    "RemoteFile",
    "check_address",
    "exists",
    "files_in",
    "find_remote",
    "is_remote_file",
    "open_bytes",
    "place_in",
    "read_bytes",
    "remove",
    "sent_file",
]

ADDRESS = re.compile(r"[a-zA-Z0-9]+://")  # matches what is an address, not a name on disk


class RemoteFile(NamedTuple):
    """A file at an address: `key` in a file system of fsspec."""

    address: str
    system: Any
    key: str

    def handle(self) -> Any:
        """A file object in which one can move."""
        with _told(self.address):
            return self.system.open(self.key, "rb")

    def n_bytes(self) -> int:
        """Size, 0 where the service does not tell."""
        return self._info().get("size") or 0

    def signature(self) -> Any:
        """Size, and what the service gives as version or time of the last change."""
        known = self._info()
        marks = ("ETag", "etag", "LastModified", "mtime", "created")
        return known.get("size"), str(next((known[m] for m in marks if known.get(m)), ""))

    def _info(self):
        with _told(self.address):
            return self.system.info(self.key)


def find_remote(address: str, is_data: Callable) -> list[tuple[str, RemoteFile]]:
    """Name and file of what is at an address: one, those of a folder, or those that match a glob.

    Parameters
    ----------
    address : str
    is_data : callable
        Whether a file of a folder or glob, a PurePosixPath below it, is wanted.
    """
    system, key = _file_system(address)
    scheme = address.partition("://")[0]
    with _told(address):
        if glob.has_magic(key):
            found = [name for name in sorted(system.glob(key)) if system.isfile(name)]
        elif scheme not in ("http", "https") and system.isdir(key):
            found = sorted(system.find(key))
        else:
            found = [key] if system.exists(key) else []
    if found == [key]:
        return [(address, RemoteFile(address, system, key))]
    below = [PurePosixPath(name.removeprefix(key.rstrip("/")).lstrip("/")) for name in found]
    is_hidden = [any(part.startswith((".", "_")) for part in path.parts[:-1]) for path in below]
    kept = [
        name
        for name, path, hidden in zip(found, below, is_hidden, strict=True)
        if not hidden and is_data(path)
    ]
    if not kept:
        raise InputError(f"there is nothing to read at {address}; check the address")
    names = [name if "://" in name else f"{scheme}://{name.lstrip('/')}" for name in kept]
    return [(name, RemoteFile(name, system, key)) for name, key in zip(names, kept, strict=True)]


def _file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the name of the file there."""
    copying = {"s3": f"aws s3 cp {address} -", "gs": f"gcloud storage cat {address}"}
    line = copying.get(address.partition("://")[0], f"curl -L {address}")
    try:
        import fsspec

        return fsspec.core.url_to_fs(address, use_listings_cache=False)  # others write there, too
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
        return Path(path).expanduser().exists()
    system, key = _file_system(str(path))
    with _told(path):
        return bool(system.exists(key))


def is_remote_file(address: str | os.PathLike) -> bool:
    """Whether there is a file, no folder, at an address."""
    system, key = _file_system(str(address))
    with _told(address):
        return bool(system.isfile(key))


def open_bytes(path: str | os.PathLike) -> Any:
    """A file, on disk or at an address, opened to be read; an OSError if it is not there."""
    if not ADDRESS.match(str(path)):
        return open(Path(path).expanduser(), "rb")
    system, key = _file_system(str(path))
    with _told(path, but=OSError):
        return system.open(key, "rb")


def read_bytes(path: str | os.PathLike) -> bytes:
    """All of a file, on disk or at an address; an OSError if it is not there."""
    with open_bytes(path) as file:
        return file.read()


def place_in(folder: str | os.PathLike, name: str) -> str:
    """The path, or address, of a file in a folder.

    >>> place_in("s3://bucket/run/", "part.ckpt"), place_in("run", "part.ckpt")
    ('s3://bucket/run/part.ckpt', 'run/part.ckpt')
    """
    return f"{str(folder).rstrip('/')}/{name}"


def files_in(folder: str | os.PathLike, pattern: str) -> list[str]:
    """Names of the files in a folder, on disk or at an address, that match; none if it is absent.

    >>> files_in("no such folder", "*.ckpt")
    []
    """
    if not ADDRESS.match(str(folder)):
        return sorted(path.name for path in Path(folder).expanduser().glob(pattern))
    system, key = _file_system(place_in(folder, pattern))
    with _told(folder):
        return sorted(PurePosixPath(found).name for found in system.glob(key))


def remove(path: str | os.PathLike) -> None:
    """Remove a file, on disk or at an address."""
    if not ADDRESS.match(str(path)):
        Path(path).expanduser().unlink()
        return
    system, key = _file_system(str(path))
    with _told(path):
        system.rm_file(key)


def check_address(address: str, *, name: str) -> None:
    """Refuse an address where nothing can be written, before work begins that would be lost."""
    if address.partition("://")[0] in ("http", "https"):
        raise InputError(f"{name}: nothing can be written at an address of the web; give another")
    system, key = _file_system(address)
    bucket = key.strip("/").partition("/")[0]
    if address.startswith(("s3://", "gs://", "az://", "abfs://")):
        with _told(address):
            try:
                is_there = system.exists(bucket)
            except PermissionError:  # who may write need not be allowed to look
                return
        if not is_there:
            raise InputError(f"{name}: there is no bucket {bucket}; make it first")


@contextmanager
def sent_file(address: str) -> Iterator[IO[bytes]]:
    """A file on disk that is sent to an address at the end; on failure nothing is."""
    system, key = _file_system(address)
    with tempfile.NamedTemporaryFile() as file:
        yield file
        file.flush()
        with _told(address):
            system.put_file(file.name, key)


@contextmanager
def _told(address, but=InputError):
    """What a service refuses, in one line; errors of the kind `but` are left to the caller."""
    try:
        yield
    except (InputError, but):
        raise
    except Exception as error:  # every service has its own
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{address} cannot be reached: {reason}; check the address and your access to it"
        ) from None
