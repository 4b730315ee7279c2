"""Paths and addresses in one form, and which of them name the same file.

A path on disk may be written in many ways: `edges.tsv`, `./edges.tsv`, `~/edges.tsv`, a symbolic or
hard link, `file:///data/edges.tsv`, `file:/data/edges.tsv`, `file://localhost/data/edges.tsv`,
`local://edges.tsv`, with `%20` for a blank in these addresses. `local_path` returns the path of
each of them, so that no other module parses addresses.

Addresses of other file systems (`s3://`, `gs://`, `memory://`) are left to fsspec. Two of them are
compared by file system and key: `s3://` and `s3a://` are one file system, and `bucket//key` equals
`bucket/key`. A member of an archive (`zip://a.tsv::file:///data/parts.zip`) equals the archive.
"""

import glob
import os
import posixpath
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from graphsqueak.errors import InputError

# A path on disk or an address.
AnyPath: TypeAlias = str | os.PathLike

# Addresses of file systems other than the local disk. A single letter is a drive of Windows.
ADDRESS = re.compile(r"(?!(?i:file|local)://)[a-zA-Z0-9]{2,}://")
_ADDRESS_ON_DISK = re.compile(r"(?:file:(?://(?:localhost(?=/))?)?|local://)", re.IGNORECASE)
_DRIVE = re.compile(r"/[a-zA-Z]:[/\\]")
_SAME_FILE_SYSTEM = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfs": "az",
    "abfss": "az",
    "ssh": "sftp",
    "arrow_hdfs": "hdfs",
    "ocilake": "oci",
}


def is_remote(path: AnyPath) -> bool:
    """Return whether a path is an address of a file system other than the local disk.

    >>> paths = ["s3://bucket/key", "FILE:///tmp/key", "key", "C:\\\\data\\\\key", "C://data/key"]
    >>> [is_remote(path) for path in paths]
    [True, False, False, False, False]
    """
    return ADDRESS.match(os.fspath(path)) is not None


def is_utf8(path: AnyPath) -> bool:
    """Return whether a name is UTF-8, as libraries outside Python require.

    >>> is_utf8("café.tsv"), is_utf8(os.fsdecode(b"caf\\xe9.tsv"))
    (True, False)
    """
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def local_path(path: AnyPath) -> Path:
    """Return the path on disk that a path or an address of the local disk names.

    Examples
    --------
    >>> local_path("file:///data/my%20edges.tsv"), local_path("local://edges.tsv")
    (PosixPath('/data/my edges.tsv'), PosixPath('edges.tsv'))
    >>> local_path("file:///C:/data/edges.tsv")
    PosixPath('C:/data/edges.tsv')
    >>> local_path("s3://bucket/edges.tsv")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: s3://bucket/edges.tsv is not on disk; copy it to a file first
    """
    if is_remote(path):
        raise InputError(f"{path} is not on disk; copy it to a file first")
    text = os.fspath(path)
    if prefix := _ADDRESS_ON_DISK.match(text):
        text = unquote(text[prefix.end() :], errors="surrogateescape")
        # file:///C:/data/edges.tsv
        if _DRIVE.match(text):
            text = text[1:]
    if "\0" in text:
        raise InputError(
            f"{path} contains a NUL character, which file names cannot; check the path"
        )
    # POSIX leaves the meaning of two leading slashes open; pathlib would keep them. On Windows they
    # begin the name of a server.
    if os.name == "posix":
        text = re.sub(r"\A//+", "/", text)
    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = text.partition("/")[0]
        raise InputError(
            f"{path}: no home folder for {user}; check the name, or write ./{text} for a "
            "file of this name"
        ) from None


def same_file(one: AnyPath, other: AnyPath) -> bool:
    """Return whether two paths or addresses name one file, also through links.

    >>> same_file("sparse.tsv", "file:./sparse.tsv"), same_file("sparse.tsv", "edges.tsv")
    (True, False)
    >>> same_file("s3://bucket/part//a.tsv", "s3a://bucket/part/a.tsv")
    True
    """
    try:
        return os.path.samefile(local_path(one), local_path(other))
    except (OSError, InputError):
        # One of them does not exist yet, or is at an address.
        first = _location(one)
        second = _location(other)
        return first.may_share_store(second) and first.key == second.key


def is_within(path: AnyPath, folder: AnyPath) -> bool:
    """Return whether a path is a folder or below it; files need not exist.

    >>> is_within("gs://bucket/parts/a.tsv", "gcs://bucket/parts/"), is_within("parts2", "parts")
    (True, False)
    """
    inner = _location(path)
    outer = _location(folder)
    return inner.may_share_store(outer) and f"{inner.key}/".startswith(f"{outer.key.rstrip('/')}/")


def matches(path: AnyPath, pattern: AnyPath) -> bool:
    """Return whether a glob matches a path, or a folder above it.

    A pattern that names an existing file is not a glob.

    >>> matches("parts/a.tsv", "file:parts/*.tsv"), matches("parts/a.tsv", "parts/*.csv")
    (True, False)
    >>> matches("s3a://bucket/day/1/a.tsv", "s3://bucket/**/a.*")
    True
    """
    if is_remote(path) != is_remote(pattern) or not glob.has_magic(os.fspath(pattern)):
        return False
    location = _location(path)
    if is_remote(path):
        wanted = _location(pattern)
        parts = location.key.split("/")
        return location.may_share_store(wanted) and _fits(parts, wanted.key.split("/"))
    expanded = local_path(pattern)
    # A file may be called part[1].tsv.
    if expanded.exists():
        return False
    # Links are resolved above the first wildcard only.
    parts = Path(os.path.abspath(expanded)).parts
    n_plain = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    folder = resolved(Path(*parts[:n_plain]))
    return _fits(Path(location.key).parts, (*folder.parts, *parts[n_plain:]))


def resolved(path: AnyPath) -> Path:
    """Return an absolute path without links; a link to itself is kept.

    `Path.resolve` raises a RuntimeError for such a link, up to Python 3.12.

    >>> resolved("/tmp/../edges.tsv")
    PosixPath('/edges.tsv')
    """
    return Path(os.path.realpath(path))


class _Location(NamedTuple):
    """Place of a file; `account` is empty if the address does not name one."""

    file_system: str
    account: str
    key: str

    def may_share_store(self, other):
        """Return whether two places may be in one store; a missing account may be any."""
        accounts = {self.account, other.account} - {""}
        return self.file_system == other.file_system and len(accounts) < 2


def _location(path):
    if not is_remote(path):
        return _Location("file", "", resolved(local_path(path)).as_posix())
    # A member of an archive stands for the archive.
    _, _, address = os.fspath(path).rpartition("::")
    if not is_remote(address):
        return _location(address)
    scheme, _, rest = address.partition("://")
    file_system = _SAME_FILE_SYSTEM.get(scheme.lower(), scheme.lower())
    account = ""
    # abfs://container@account.dfs.core.windows.net/key
    if file_system == "az":
        container, slash, key = rest.partition("/")
        container, _, host = container.partition("@")
        account = host.partition(".")[0]
        rest = f"{container}{slash}{key}"
    return _Location(file_system, account, posixpath.normpath(f"/{rest.lstrip('/')}"))


def _fits(parts, pattern):
    """Return whether the parts of a path, or the first of them, match those of a glob."""
    if not pattern:
        return True
    # "**" matches any number of folders, including none.
    if pattern[0] == "**":
        return any(_fits(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return len(parts) > 0 and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])
