"""All or nothing: files that appear whole, and work that Ctrl-C does not cut in the middle.

A file is written next to its path and renamed at the end. Files of one run are renamed together
(`written_together`), so that either all of them appear or none does. A killed process leaves
partial files; the next run that writes the same file removes them.

An output is never an input of the same run. A run with a checkpoint notes the digests of its
outputs (`run.ckpt.sha256`, which `sha256sum --check` reads); a resumed run may replace these
outputs and no others.

Ctrl-C and `kill` stop a run between two batches: it saves, cleans up, and exits with 130 or 143.
"""

import bz2
import fcntl
import gzip
import hashlib
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from graphsqueak.errors import InputError
from graphsqueak.system.paths import (
    is_remote,
    is_within,
    local_path,
    matches,
    resolved,
    same_file,
)
from graphsqueak.system.remote import (
    check_address,
    files_in,
    is_remote_file,
    open_bytes,
    read_bytes,
    send_file,
)
from graphsqueak.system.terminal import is_open_at_start

__all__ = [
    "STANDARD_OUTPUT",
    "Stopped",
    "atomic_file",
    "check_outputs",
    "check_writable",
    "hold_signals",
    "is_file",
    "is_note",
    "is_replaceable",
    "note_of",
    "note_written",
    "resumable_from",
    "stoppable",
    "written_paths",
    "written_together",
]

STANDARD_OUTPUT = "-"
_MAX_NAME_BYTES = 200  # of a target's name, in the name of its partial file
_RESENT_AFTER_SECONDS = 0.05  # a finalizer has ended by then
_NOTE = b"# outputs of a graphsqueak run, noted for --resume\n"  # a comment to sha256sum
_NOTED = re.compile(rb"\\?[0-9a-f]{64}  [^\n]+\n")


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
    if not is_remote(path):
        check_writable(path)
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.flush()
        with _compressed(sys.stdout.buffer, compression) as outer:
            yield outer
        sys.stdout.buffer.flush()
        _written.append("standard output")
        return
    target = None if is_remote(path) else resolved(local_path(path))
    if target is not None and target.exists() and not target.is_file():
        with _opened(target, "wb") as file, _compressed(file, compression) as outer:
            yield outer
        _written.append(str(path))
        return
    beside, opened, lock = _open_partial(target)
    finished = _Finished(path, beside, target, lock)
    try:
        with opened as file:
            with _compressed(file, compression) as outer:
                yield outer
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        finished.discard()
        if isinstance(error, OSError):  # a full disk, most of all
            raise _unfinished(path, error) from None
        raise
    together = _finished_together.get()
    if together is None:
        _publish([finished])
    else:
        together.append(finished)


@contextmanager
def written_together():
    """Within it, files of `atomic_file` wait for each other: they appear at its end, or none does.

    An inner block does not wait for an outer one. Standard output, devices and pipes cannot wait.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_together():
    ...     for name in ("edges", "report"):
    ...         with atomic_file(folder / name) as file:
    ...             written = file.write(b"42")
    ...     there = (folder / "edges").exists()
    >>> there, (folder / "edges").exists(), (folder / "report").exists()
    (False, True, True)
    """
    finished: list[_Finished] = []
    token = _finished_together.set(finished)
    try:
        yield
        with hold_signals():
            _publish(finished)
            finished.clear()
    finally:
        _finished_together.reset(token)
        for file in finished:
            file.discard()


def written_paths():
    """Paths that have been written since the last `stoppable` began, checkpoints included."""
    return list(dict.fromkeys(_written))


class _Finished:
    """A file that is complete, next to its place (`target`) on disk or on its way to an address."""

    def __init__(self, path, beside, target, lock):
        self.path, self.beside, self.target = path, beside, target
        self._lock = lock

    def publish(self):
        if self.target is not None:
            os.replace(self.beside, self.target)
        else:
            send_file(self.beside, str(self.path))
        self.discard()
        _written.append(str(self.path))

    def discard(self):
        self.beside.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _open_partial(target):
    """Open a new file next to `target`, or in the temporary folder; return path, file and lock.

    A process that is killed leaves its partial file. So the file is locked until it is renamed, and
    partial files of the same target that nobody has locked are removed.
    """
    if target is None:
        handle, name = tempfile.mkstemp()
        return Path(name), open(handle, "wb"), None
    # Names have at most 255 bytes.
    start = os.fsdecode(b"." + os.fsencode(target.name)[:_MAX_NAME_BYTES] + b".")
    _remove_abandoned(target.parent, start)
    while True:
        path = target.with_name(f"{start}{secrets.token_hex(4)}.part")
        file = _opened(path, "xb")
        lock = os.dup(file.fileno())
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another run may have taken the file for an abandoned one before it was locked.
        if path.exists():
            return path, file, lock
        file.close()
        os.close(lock)


def _remove_abandoned(folder, start):
    """Remove the partial files in a folder whose names begin so and that no process has locked."""
    is_partial = re.compile(re.escape(start) + r"[0-9a-f]{8}\.part", re.DOTALL).fullmatch
    try:
        names = filter(is_partial, os.listdir(folder))
    except OSError:  # a folder that may be written to, but not listed
        return
    for name in names:
        # It may have been renamed meanwhile, be locked, or belong to another user.
        with suppress(OSError), open(folder / name, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(folder / name)


_finished_together: ContextVar[list[_Finished] | None] = ContextVar("finished", default=None)
_written: list[str] = []


def _publish(finished):
    """Move files to their places: those at addresses first, since these are likelier to fail."""
    published: list[str] = []
    for file in sorted(finished, key=lambda file: file.target is not None):
        try:
            file.publish()
        except (OSError, InputError) as error:
            for other in finished:
                other.discard()
            raise _unfinished(file.path, error, published) from None
        published.append(str(file.path))


def _unfinished(path, error, published=()):
    """The error that a file could not be written; `published` were, before it."""
    if isinstance(error, InputError):
        said = str(error)
    else:
        said = (
            f"{path} could not be written: {error.strerror or error}; no part of it was left "
            "behind: free disk space, or choose another path"
        )
    return InputError(f"{said}. {', '.join(published)} had been written" if published else said)


def check_writable(path, *, name=None):
    """Refuse a path where no file can be made, before work begins that would be lost.

    Nothing is written or made. Messages speak of `name`, by default the path.

    >>> check_writable("missing/answer")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: missing/answer: there is no folder missing; make it first
    """
    if str(path) == STANDARD_OUTPUT:
        if not is_open_at_start(1):
            raise InputError("standard output is closed; write to a file, or do not close it")
        return
    name = name or path
    if is_remote(path):
        check_address(str(path), name=name)
        return
    target = local_path(path)
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
        is_folder = not is_remote(path) and local_path(path).is_dir()
        if not ("checkpoint" in what and is_folder):
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
    return is_remote_file(path) if is_remote(path) else local_path(path).is_file()


def is_replaceable(path, resumes=None):
    """Whether nothing is lost where `path` is written: nothing is there, or what a run made itself.

    `resumes` is the checkpoint of that run.
    """
    if not is_file(path):
        return True  # nothing is there, or a device
    note = note_of(resumes) if resumes else None
    if note is None or not is_note(note):
        return False
    return _noted(path, _digest(path)) in read_bytes(note)


def note_of(checkpoint):
    """The path of the note on the outputs of a run, next to its checkpoint."""
    return f"{str(checkpoint).rstrip('/')}.sha256"


def is_note(path):
    """Whether a file is a note that `note_written` has written.

    >>> is_note("missing.ckpt.sha256")
    False
    """
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return file.read(len(_NOTE)) == _NOTE and all(map(_NOTED.fullmatch, file))


def note_written(checkpoint, paths):
    """Note next to a checkpoint what its run has written, or is about to (`written_together`)."""
    lines = [_NOTE]
    waiting = {str(file.path): file.beside for file in _finished_together.get() or ()}
    for path in paths:
        if path is not None and (str(path) in waiting or is_file(path)):
            lines.append(_noted(path, _digest(waiting.get(str(path), path))))
    with atomic_file(note_of(checkpoint)) as file:
        file.write(b"".join(lines))


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
    _written.clear()
    for number in before:
        signal.signal(number, _stop)
    try:
        with _lost_signals_sent_again():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _lost_signals_sent_again():
    """Send a signal again if the exception that it raised was ignored.

    Python ignores exceptions in finalizers, and while numba compiles, many objects of LLVM are
    finalized: the run would go on as if there had been no signal.
    """
    timers = []
    hook = sys.unraisablehook

    def send_again(unraisable):
        if not isinstance(unraisable.exc_value, Stopped):
            hook(unraisable)
            return
        arguments = (os.getpid(), unraisable.exc_value.number)
        timers.append(threading.Timer(_RESENT_AFTER_SECONDS, os.kill, arguments))
        timers[-1].daemon = True
        timers[-1].start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for timer in timers:
            timer.cancel()


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
    """Let a stop within it name the checkpoint: a file, or a folder of finished parts."""
    try:
        yield
    except Stopped as stop:
        if checkpoint is not None and (is_file(checkpoint) or files_in(checkpoint, "*.ckpt")):
            stop.checkpoint = checkpoint
        raise


def _noted(path, digest):
    """A line of a note, as sha256sum writes it: of odd names, a backslash and escapes."""
    name = str(path)
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "" if escaped == name else "\\"
    return os.fsencode(f"{mark}{digest}  {escaped}\n")


def _digest(path):
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_inputs(path, name, inputs):
    """Refuse an output that is an input, lies in an input folder, or matches an input glob."""
    is_on_disk = not is_remote(path)
    if is_on_disk:
        target = local_path(path)
        if target.exists() and not target.is_file() and not target.is_dir():
            return  # a device or a named pipe
    for given in inputs:
        if same_file(path, given):
            raise InputError(f"{name} is an input of this run ({given}); give it another name")
        is_folder = is_remote(given) or local_path(given).is_dir()
        if (is_folder and is_within(path, given)) or matches(path, given):
            raise InputError(
                f"{name} lies in {given}, an input of this run: the next run would read it too; "
                "write it elsewhere"
            )
        if not is_on_disk or is_remote(given) or not is_folder or not target.exists():
            continue
        if any(same_file(target, file) for file in local_path(given).rglob("*")):
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

        compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
        with compressor.stream_writer(file, closefd=False) as outer:
            yield outer


def _stop(number, frame):
    if _depth[0] and not _waiting:
        _waiting.append(number)
    else:
        raise Stopped(number)
