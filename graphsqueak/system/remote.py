"""Files on disk and at addresses (s3://, gs://, az://, https://, memory://), through fsspec.

Files are read in pieces. A file is written on disk first and sent when it is complete, so that an
address never has a partial file. fsspec and its file systems (s3fs, gcsfs, adlfs, aiohttp) come
with the extra `remote`.
"""

import glob
import os
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.system.paths import AnyPath, is_remote, local_path
from graphsqueak.system.time_limits import TimedFile, call_within, timeout_seconds


class RemoteFile(NamedTuple):
    """File at an address: `key` in a file system of fsspec."""

    address: str
    system: Any
    key: str

    def call(self, method: str, *arguments: Any, ignore: tuple = ()) -> Any:
        """Call a method of the file system, within the time limit, for this file.

        Errors are raised as an InputError of one line, except the classes in `ignore`.
        """
        with _one_line_errors(self.address, ignore):
            return call_within(
                timeout_seconds(), getattr(self.system, method), self.key, *arguments
            )

    def handle(self, ignore: tuple = ()) -> Any:
        """Return a seekable file object."""
        return TimedFile(self.call("open", "rb", ignore=ignore))

    def n_bytes(self) -> int:
        """Return the size, 0 if the service does not report it."""
        return self.call("info").get("size") or 0

    def signature(self) -> Any:
        """Return the size, and the version or the time of the last change."""
        info = self.call("info")
        # Every service has another name for it.
        versions = (info.get(name) for name in ("ETag", "etag", "LastModified", "mtime", "created"))
        return info.get("size"), str(next(filter(None, versions), ""))


def find_remote(address: str, is_data: Callable) -> list[tuple[str, RemoteFile]]:
    """Return the names and files at an address: one file, a folder, or the matches of a glob.

    Parameters
    ----------
    address : str
    is_data : callable
        Returns whether to include a file of a folder or glob, given its path below it.
    """
    place = _remote_file(address)
    scheme = address.partition("://")[0].lower()
    if glob.has_magic(place.key):
        matches = [place._replace(key=key) for key in place.call("glob")]
        found = sorted(file.key for file in matches if file.call("isfile"))
    # fsspec takes every web page for a folder of the files that it links.
    elif scheme not in ("http", "https") and place.call("isdir"):
        found = sorted(place.call("find"))
    else:
        found = [place.key] if place.call("exists") else []
    if found == [place.key]:
        return [(address, place)]
    files = []
    for key in found:
        path = PurePosixPath(key.removeprefix(place.key.rstrip("/")).lstrip("/"))
        # Folders such as _delta_log and .ipynb_checkpoints have no edges.
        is_hidden = any(part.startswith((".", "_")) for part in path.parts[:-1])
        if not is_hidden and is_data(path):
            file_address = _address_of(scheme, key)
            files.append((file_address, RemoteFile(file_address, place.system, key)))
    if not files:
        raise InputError(f"there is nothing to read at {address}; check the address")
    return files


def _remote_file(address: AnyPath) -> RemoteFile:
    """Return the file at an address, which need not exist."""
    address = os.fspath(address)
    scheme, _, rest = address.partition("://")
    address = f"{scheme.lower()}://{rest}"
    commands = {"s3": f"aws s3 cp {address} -", "gs": f"gcloud storage cat {address}"}
    command = commands.get(scheme.lower(), f"curl -L {address}")
    try:
        import fsspec

        # Some file systems connect, or open an archive, when they are created.
        with _one_line_errors(address, ignore=(ImportError, ValueError)):
            # A cache of listings would hide files that other programs write.
            system, key = call_within(
                timeout_seconds(), fsspec.core.url_to_fs, address, use_listings_cache=False
            )
        return RemoteFile(address, system, key)
    except ImportError as error:
        raise InputError(
            f"{address} needs a package ({error}): pip install 'graphsqueak[remote]', or pipe it "
            f"in: {command} | graphsqueak info -"
        ) from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{address}: {error}; save it first, and give the file") from None


def exists(path: AnyPath) -> bool:
    """Return whether a path on disk or an address exists."""
    if not is_remote(path):
        return local_path(path).exists()
    return bool(_remote_file(path).call("exists"))


def is_remote_file(address: AnyPath) -> bool:
    """Return whether an address is a file and not a folder."""
    return bool(_remote_file(address).call("isfile"))


def open_bytes(path: AnyPath) -> Any:
    """Open a file on disk or at an address for reading; raise an OSError if it does not exist."""
    if not is_remote(path):
        return open(local_path(path), "rb")
    return _remote_file(path).handle(ignore=(OSError,))


def read_bytes(path: AnyPath) -> bytes:
    """Return the content of a file on disk or at an address; raise an OSError if it is missing."""
    with open_bytes(path) as file:
        return file.read()


def place_in(folder: AnyPath, name: str) -> str:
    """Return the path, or address, of a file in a folder.

    >>> place_in("s3://bucket/run/", "part.ckpt"), place_in("run", "part.ckpt")
    ('s3://bucket/run/part.ckpt', 'run/part.ckpt')
    """
    return f"{str(folder).rstrip('/')}/{name}"


def files_in(folder: AnyPath, pattern: str) -> list[str]:
    """Return the names of the files in a folder that match a glob; none if it does not exist.

    >>> files_in("no such folder", "*.ckpt")
    []
    """
    if not is_remote(folder):
        return sorted(path.name for path in local_path(folder).glob(pattern))
    found = _remote_file(place_in(folder, pattern)).call("glob")
    return sorted(PurePosixPath(key).name for key in found)


def check_installed(address: AnyPath) -> None:
    """Raise an InputError if the package that reads an address is not installed."""
    _remote_file(address)


def matching_files(address: str) -> list[str]:
    """Return the addresses of the files that match a glob at an address.

    The result is empty if the service refuses to list files: permission to read a file does not
    include permission to list folders.

    Parameters
    ----------
    address : str
        A pattern such as s3://bucket/run/*.ckpt; `**` is any number of folders.
    """
    scheme = address.partition("://")[0]
    try:
        found = _remote_file(address).call("glob", ignore=(Exception,))
    # A timeout is a problem of the connection, not of permissions.
    except TimeoutError as error:
        raise _unreachable(address, error) from None
    except InputError:
        raise
    except Exception:  # every service has its own class for refused access
        return []
    return sorted(_address_of(scheme, key) for key in found)


def _address_of(scheme, key):
    """Return the address of a name in a file system of fsspec."""
    return key if "://" in key else f"{scheme}://{key.lstrip('/')}"


def remove(path: AnyPath) -> None:
    """Remove a file, on disk or at an address."""
    if is_remote(path):
        _remote_file(path).call("rm_file")
    else:
        local_path(path).unlink()


def check_address(address: str, *, name: str) -> None:
    """Raise an InputError if nothing can be written at an address, before long work begins."""
    scheme = address.partition("://")[0].lower()
    if scheme in ("http", "https"):
        raise InputError(f"{name}: nothing can be written at an address of the web; give another")
    place = _remote_file(address)
    # Object stores create folders on writing, but not buckets.
    bucket = place._replace(key=place.key.strip("/").partition("/")[0])
    if scheme in ("s3", "s3a", "gs", "gcs", "az", "abfs"):
        # Permission to write does not include permission to list.
        with suppress(PermissionError):
            if not bucket.call("exists", ignore=(PermissionError,)):
                raise InputError(f"{name}: the bucket {bucket.key} does not exist; create it first")


def send_file(path: AnyPath, address: str) -> None:
    """Copy a file on disk to an address.

    There is no time limit, since a large file may take long. Services end uploads that stall.
    """
    place = _remote_file(address)
    with _one_line_errors(address):
        place.system.put_file(os.fspath(path), place.key)


@contextmanager
def _one_line_errors(address, ignore=()):
    """Raise errors of a service as an InputError of one line, except the classes in `ignore`."""
    try:
        yield
    except (InputError, *ignore):
        raise
    except Exception as error:  # every service has its own classes
        raise _unreachable(address, error) from None


def _unreachable(address, error):
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    # Messages of several lines would break the output of the command line.
    reason = reason.splitlines()[0]
    return InputError(
        f"{address} cannot be reached: {reason}; check the address and your access to it"
    )
