"""Edge files at addresses, as parts of a stream."""

import fnmatch
import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from graphsqueak.errors import InputError
from graphsqueak.sources.files.parts import ByteStream, Part, is_data
from graphsqueak.system.remote import file_system

__all__ = ["RemotePart", "remote_parts"]


@dataclass(frozen=True)
class RemotePart(Part):
    """A file at the address `name`: `key` in the `system` of fsspec."""

    system: Any = None
    key: str = ""

    @property
    def is_rereadable(self) -> bool:
        """It can be asked for again."""
        return True

    def signature(self) -> Any:
        """Size, and what the service gives as version or time of the last change."""
        known = self._info()
        marks = ("ETag", "etag", "LastModified", "mtime", "created")
        return known.get("size"), str(next((known[m] for m in marks if known.get(m)), ""))

    def n_bytes(self) -> int:
        """Size, 0 where the service does not tell."""
        return self._info().get("size") or 0

    def _info(self):
        try:
            return self.system.info(self.key)
        except Exception as error:  # every service has its own
            raise _unreadable(self.name, error) from None

    def handle(self) -> Any:
        """A file object that can be moved in."""
        try:
            return self.system.open(self.key, "rb")
        except Exception as error:  # every service has its own
            raise _unreadable(self.name, error) from None

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Open as a `ByteStream`, closed at the end."""
        with self.handle() as file:
            yield ByteStream(file, name=self.name, n_bytes=self.n_bytes() or None)


def remote_parts(address: str, passed_over: list[str]) -> list[RemotePart]:
    """The files at an address: one, those of a folder, or those that match a glob."""
    system, key = file_system(address)
    scheme = address.partition("://")[0]
    try:
        if glob.has_magic(key):
            found = [name for name in sorted(system.glob(key)) if system.isfile(name)]
        elif scheme not in ("http", "https") and system.isdir(key):
            found = sorted(system.find(key))
        else:
            found = [key] if system.exists(key) else []
    except InputError:
        raise
    except Exception as error:  # every service has its own
        raise _unreadable(address, error) from None
    if len(found) != 1 or found != [key]:
        top = key.rstrip("/")
        found = [name for name in found if _is_data(name, top, passed_over)]
    if not found:
        raise InputError(f"there is nothing to read at {address}; check the address")
    if found == [key]:
        return [RemotePart(address, system=system, key=key)]
    names = [name if "://" in name else f"{scheme}://{name.lstrip('/')}" for name in found]
    return [
        RemotePart(name, system=system, key=key) for name, key in zip(names, found, strict=True)
    ]


def _is_data(name, top, passed_over):
    inner = PurePosixPath(name.removeprefix(top).lstrip("/") or name)
    if fnmatch.filter(inner.parts[:-1], "[._]*"):
        return False
    return is_data(inner, passed_over, is_folder=False)


def _unreadable(name, error):
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return InputError(f"{name} cannot be read: {reason}; check the address and your access to it")
