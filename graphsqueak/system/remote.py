"""Files on disk and at addresses (s3://, gs://, az://, https://, memory://), through fsspec.

What is read is asked for in pieces. What is written is made on disk first and sent when it is
whole, so that there is never a half of it at its address. fsspec and what a kind of address needs
beside it (s3fs, gcsfs, adlfs, aiohttp) come with the extra `remote`.
"""

import glob
import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.time_limits import TimedFileSystem, call_within, timeout_seconds

__all__ = [
    "RemoteFile",
    "check_address",
    "exists",
    "files_in",
    "find_remote",
    "is_remote_file",
    "matching_files",
    "open_bytes",
    "place_in",
    "read_bytes",
    "remove",
    "send_file",
]


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
    scheme = address.partition("://")[0].lower()
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
    names = [_address_of(scheme, name) for name in kept]
    return [(name, RemoteFile(name, system, key)) for name, key in zip(names, kept, strict=True)]


def _file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the name of the file there."""
    scheme, _, rest = address.partition("://")
    address = f"{scheme.lower()}://{rest}"
    copying = {"s3": f"aws s3 cp {address} -", "gs": f"gcloud storage cat {address}"}
    line = copying.get(scheme.lower(), f"curl -L {address}")
    try:
        import fsspec

        # Some file systems connect, or open an archive, when they are made.
        with _told(address, but=(ImportError, ValueError)):
            # Without a cache of listings, files that others write are seen.
            system, key = call_within(
                timeout_seconds(), fsspec.core.url_to_fs, address, use_listings_cache=False
            )
        return TimedFileSystem(system), key
    except ImportError as error:
        raise InputError(
            f"{address} needs a package ({error}): pip install 'graphsqueak[remote]', or pipe it "
            f"in: {line} | graphsqueak info -"
        ) from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{address}: {error}; save it first, and give the file") from None


def exists(path: str | os.PathLike) -> bool:
    """Whether there is a file, on disk or at an address."""
    if not is_remote(path):
        return local_path(path).exists()
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
    if not is_remote(path):
        return open(local_path(path), "rb")
    system, key = _file_system(str(path))
    with _told(path, but=(OSError,)):
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
    if not is_remote(folder):
        return sorted(path.name for path in local_path(folder).glob(pattern))
    system, key = _file_system(place_in(folder, pattern))
    with _told(folder):
        return sorted(PurePosixPath(found).name for found in system.glob(key))


def matching_files(address: str) -> list[str]:
    """Return the addresses of the files that match a glob at an address.

    The result is empty if the service refuses to list files: permission to read a file does not
    include permission to list folders.

    Parameters
    ----------
    address : str
        A pattern such as s3://bucket/run/*.ckpt; `**` is any number of folders.
    """
    system, key = _file_system(address)
    scheme = address.partition("://")[0]
    with _told(address):
        try:
            found = system.glob(key)
        except TimeoutError:
            raise
        except Exception:  # every service has its own
            return []
        return sorted(_address_of(scheme, name) for name in found)


def _address_of(scheme, key):
    """A name in a file system of fsspec as an address."""
    return key if "://" in key else f"{scheme}://{key.lstrip('/')}"


def remove(path: str | os.PathLike) -> None:
    """Remove a file, on disk or at an address."""
    if not is_remote(path):
        local_path(path).unlink()
        return
    system, key = _file_system(str(path))
    with _told(path):
        system.rm_file(key)


def check_address(address: str, *, name: str) -> None:
    """Refuse an address where nothing can be written, before work begins that would be lost."""
    scheme = address.partition("://")[0].lower()
    if scheme in ("http", "https"):
        raise InputError(f"{name}: nothing can be written at an address of the web; give another")
    system, key = _file_system(address)
    bucket = key.strip("/").partition("/")[0]
    if scheme in ("s3", "s3a", "gs", "gcs", "az", "abfs"):
        with _told(address):
            try:
                is_there = system.exists(bucket)
            except PermissionError:  # who may write need not be allowed to look
                return
        if not is_there:
            raise InputError(f"{name}: there is no bucket {bucket}; make it first")


def send_file(path: str | os.PathLike, address: str) -> None:
    """Copy a file on disk to an address."""
    system, key = _file_system(address)
    with _told(address):
        system.put_file(os.fspath(path), key)


@contextmanager
def _told(address, but=()):
    """What a service refuses, in one line; errors of the kinds `but` are left to the caller."""
    try:
        yield
    except (InputError, *but):
        raise
    except Exception as error:  # every service has its own
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = reason.splitlines()[0]
        raise InputError(
            f"{address} cannot be reached: {reason}; check the address and your access to it"
        ) from None
