"""All or nothing: files that appear whole, and work that Ctrl-C does not cut in the middle.

A file is written beside its path and moved there; it replaces nothing by accident. An output is
never an input of the same run. A run with a checkpoint notes the digests of what it has written
(`run.ckpt.sha256`, as sha256sum writes them); resuming it may replace just that.

Ctrl-C and `kill` stop a run between two batches: it saves, cleans up, and leaves with 130 or 143.
"""

import bz2
import gzip
import hashlib
import os
import secrets
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from graphsqueak.errors import InputError
from graphsqueak.system.remote import (
    ADDRESS,
    check_address,
    exists,
    files_in,
    is_remote_file,
    open_bytes,
    read_bytes,
    sent_file,
)

__all__ = [
    "STANDARD_OUTPUT",
    "Stopped",
    "atomic_file",
    "check_outputs",
    "check_writable",
    "hold_signals",
    "is_file",
    "is_replaceable",
    "note_written",
    "resumable_from",
    "same_file",
    "stoppable",
]

STANDARD_OUTPUT = "-"


@contextmanager
def atomic_file(path, compression=None):
    """Open a binary file beside `path` and move it there at the end, or remove it on failure.

    Parameters
    ----------
    path : str or Path
        The final path, or address. A device or named pipe is written to directly; "-" is standard
        output.
    compression : {"gzip", "zstd", "bzip2"}, optional
        Compress what is written; the bytes do not depend on the time or the name.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answer"
    >>> with atomic_file(path) as file:
    ...     written = file.write(b"42")
    ...     there = path.exists()
    >>> there, path.read_bytes()
    (False, b'42')
    """
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.flush()
        with _compressed(sys.stdout.buffer, compression) as outer:
            yield outer
        sys.stdout.buffer.flush()
        return
    if ADDRESS.match(str(path)):
        with sent_file(path) as file, _compressed(file, compression) as outer:
            yield outer
        return
    target = Path(path).expanduser().resolve()
    check_writable(path)
    if target.exists() and not target.is_file():
        with _opened(target, "wb") as file, _compressed(file, compression) as outer:
            yield outer
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _opened(beside, "xb") as file:
            with _compressed(file, compression) as outer:
                yield outer
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk, most of all
            raise InputError(
                f"{path} could not be written: {error.strerror or error}; nothing was left "
                "behind: make room, or choose another path"
            ) from None
        raise


def check_writable(path, *, name=None):
    """Refuse a path where no file can be made, before work begins that would be lost.

    Nothing is written or made. Messages speak of `name`, by default the path.

    >>> check_writable("missing/answer")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: missing/answer: there is no folder missing; make it first
    """
    if str(path) == STANDARD_OUTPUT:
        return
    if ADDRESS.match(str(path)):
        check_address(str(path), name=name or path)
        return
    target, name = Path(path).expanduser(), name or path
    folder = target.parent
    if target.is_dir():
        raise InputError(f"{name} is a folder; give the name of a file in it")
    if target.exists() and not target.is_file():
        return  # a device or a named pipe is written to as it is
    if not folder.exists():
        raise InputError(f"{name}: there is no folder {folder}; make it first")
    if not folder.is_dir():
        raise InputError(f"{name}: {folder} is a file, not a folder; check the path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{name}: the folder {folder} cannot be written to; try another")


def same_file(one, other):
    """Whether two paths lead to one file, through links or by another spelling.

    >>> same_file("sparse.tsv", "./sparse.tsv"), same_file("sparse.tsv", "edges.tsv")
    (True, False)
    """
    if ADDRESS.match(str(one)) or ADDRESS.match(str(other)):
        return str(one) == str(other)
    one, other = Path(one).expanduser(), Path(other).expanduser()
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return one.resolve() == other.resolve()


def check_outputs(outputs, inputs):
    """Refuse outputs that cannot be written, that are one file, or that are read.

    Parameters
    ----------
    outputs : dict
        Path by what it is called. A folder, of checkpoints, may be there.
    inputs : list of path
        What is read; of a folder, all that is in it.

    Examples
    --------
    >>> check_outputs({"out": "a.tsv", "report": "./a.tsv"}, [])
    Traceback (most recent call last):
    graphsqueak.errors.InputError: report ./a.tsv is the same file as out; give it another name
    """
    earlier: dict = {}
    for what, path in outputs.items():
        name = f"{what} {path}"
        if not ("checkpoint" in what and Path(path).expanduser().is_dir()):
            check_writable(path, name=name)
        _refuse_inputs(path, name, inputs)
        for other, taken in earlier.items():
            if same_file(path, taken):
                raise InputError(f"{name} is the same file as {other}; give it another name")
        earlier[what] = path


def is_file(path):
    """Whether a file is there that keeps what is written: no device, no folder.

    >>> is_file("missing/answer"), is_file(os.devnull)
    (False, False)
    """
    return is_remote_file(path) if ADDRESS.match(str(path)) else Path(path).expanduser().is_file()


def is_replaceable(path, resumes=None):
    """Whether nothing is lost where `path` is written: nothing is there, or what a run made itself.

    `resumes` is the checkpoint of that run.
    """
    if not is_file(path):
        return True  # nothing is there, or a device
    note = _note(resumes) if resumes else None
    if note is None or not exists(note):
        return False
    return f"{_digest(path)}  {path}\n" in read_bytes(note).decode()


def note_written(checkpoint, paths):
    """Note beside a checkpoint what its run has written."""
    paths = [path for path in paths if path is not None and is_file(path)]
    with atomic_file(_note(checkpoint)) as file:
        file.write("".join(f"{_digest(path)}  {path}\n" for path in paths).encode())


class Stopped(BaseException):
    """A signal asked for the end; `checkpoint` says where the state was saved, if it was.

    No KeyboardInterrupt, which typer would swallow.
    """

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.checkpoint = None


_waiting: list[int] = []  # signals that came while work was held together
_depth = [0]


@contextmanager
def stoppable():
    """Within it, SIGINT and SIGTERM raise `Stopped`, a second time at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    _waiting.clear()
    for number in before:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hold_signals():
    """Work that must not be cut in the middle: a signal waits until it is done."""
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
    if _waiting and not _depth[0]:
        raise Stopped(_waiting.pop())


@contextmanager
def resumable_from(checkpoint):
    """Tell who is stopped within it where to go on from: a file, or a folder of finished parts."""
    try:
        yield
    except Stopped as stop:
        if checkpoint is not None and (is_file(checkpoint) or files_in(checkpoint, "*.ckpt")):
            stop.checkpoint = checkpoint
        raise


def _note(checkpoint):
    return f"{str(checkpoint).rstrip('/')}.sha256"


def _digest(path):
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_inputs(path, name, inputs):
    if ADDRESS.match(str(path)):
        for given in inputs:
            if f"{path}/".startswith(f"{str(given).rstrip('/')}/"):
                raise InputError(
                    f"{name} is, or lies in, an input of this run ({given}); write it elsewhere"
                )
        return
    target = Path(path).expanduser()
    if target.exists() and not target.is_file() and not target.is_dir():
        return  # a device or a named pipe
    for given in inputs:
        if ADDRESS.match(str(given)):
            continue
        found = Path(given).expanduser()
        if same_file(target, found):
            raise InputError(f"{name} is an input of this run ({given}); give it another name")
        if not found.is_dir():
            continue
        if target.resolve().is_relative_to(found.resolve()):
            raise InputError(
                f"{name} lies in the folder {given} that is read, so that the next run would read "
                "it, too; write it elsewhere"
            )
        if target.exists() and any(same_file(target, file) for file in found.rglob("*")):
            raise InputError(f"{name} is an input of this run, in {given}; give it another name")


def _opened(target, mode):
    try:
        return open(target, mode)
    except OSError as error:
        raise _unwritable(target, error.strerror) from None


def _unwritable(target, reason):
    return InputError(f"{target} cannot be written: {reason}; check the path")


@contextmanager
def _compressed(file, compression):
    if compression is None:
        yield file
    elif compression == "gzip":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as outer:
            yield outer
    elif compression == "bzip2":
        with bz2.BZ2File(file, "wb") as outer:
            yield outer
    else:
        import zstandard

        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as outer:
            yield outer


def _stop(number, frame):
    if _depth[0] and not _waiting:
        _waiting.append(number)
    else:
        raise Stopped(number)
