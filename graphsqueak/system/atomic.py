"""Atomic output: complete files or none, and work that Ctrl-C does not interrupt midway.

A file is written next to its path and renamed at the end. The files of one run are renamed together
(`written_together`), so that all of them appear or none. A killed process leaves partial files,
which the next run that writes the same file removes.

An output is never an input of the same run. A run with a checkpoint notes the digests of its
outputs (`run.ckpt.sha256`, readable by `sha256sum --check`). A resumed run may replace these
outputs and no others.

Ctrl-C and `kill` stop a run between two batches: it saves, cleans up, and exits with 130 or 143.
"""

import bz2
import glob
import gzip
import hashlib
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from itertools import combinations
from pathlib import Path
from types import ModuleType

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

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    # Windows does not remove or rename open files, so that they need no lock.
    fcntl = None

STANDARD_OUTPUT = "-"
# A comment to sha256sum.
_NOTE_HEADER = b"# outputs of a graphsqueak run, noted for --resume\n"
_NOTE_LINE = re.compile(rb"\\?[0-9a-f]{64}  [^\n]+\n")


@contextmanager
def atomic_file(path, compression=None):
    """Open a binary file that is moved to `path` at the end, or removed on failure.

    Parameters
    ----------
    path : str or Path
        Final path or address. A device or named pipe is written directly; "-" is standard output.
    compression : {"gzip", "zstd", "bzip2"}, optional
        Compression of the content; the bytes do not depend on the time or the name.

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
    # Checking an address takes a request; sending the file later reports the same errors.
    if not is_remote(path):
        check_writable(path)
    target = None if is_remote(path) else resolved(local_path(path))
    is_standard_output = str(path) == STANDARD_OUTPUT
    if is_standard_output or (target is not None and target.exists() and not target.is_file()):
        # Text that was printed before must precede the bytes.
        sys.stdout.flush()
        direct = nullcontext(sys.stdout.buffer) if is_standard_output else _open(target, "wb")
        with direct as file:
            with _compressed(file, compression) as outer:
                yield outer
            file.flush()
        _written.append("standard output" if is_standard_output else str(path))
        return
    finished = _FinishedFile(path, target)
    with ExitStack() as cleanup:
        cleanup.callback(finished.discard)
        try:
            with _compressed(finished.file, compression) as outer:
                yield outer
            # The content is on disk before the rename: after a crash of the machine, the path has
            # the old or the new file, and not an empty one.
            finished.file.flush()
            os.fsync(finished.file.fileno())
        except OSError as error:
            # Most often the disk is full.
            raise _write_error(path, error) from None
        unpublished = _unpublished.get()
        if unpublished is None:
            finished.publish()
        else:
            unpublished.append(finished)
            # From here on, `written_together` discards the file.
            cleanup.pop_all()


@contextmanager
def written_together():
    """Publish the files of `atomic_file` within the block together at its end, or none on failure.

    An inner block publishes its own files. Standard output, devices and pipes are written at once.

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
    finished: list[_FinishedFile] = []
    published: list[str] = []
    token = _unpublished.set(finished)
    try:
        yield
        # A signal between two renames would leave some of the files.
        with hold_signals():
            # Remote files first, since these are more likely to fail.
            for file in sorted(finished, key=lambda file: file.target is not None):
                file.publish()
                published.append(str(file.path))
    except InputError as error:
        if published:
            message = f"{error}. {', '.join(published)} had been written"
            raise InputError(message) from None
        raise
    finally:
        _unpublished.reset(token)
        for file in finished:
            file.discard()


def written_paths():
    """Return the paths written since the last `stoppable` began, checkpoints included."""
    return list(dict.fromkeys(_written))


def written_bytes(path):
    """Return the size of a file that is written, or will be by `written_together`; None if none.

    >>> written_bytes("missing/answer") is None
    True
    """
    for file in _unpublished.get() or ():
        if str(file.path) == str(path):
            return os.path.getsize(file.file.name)
    is_local_file = not is_remote(path) and local_path(path).is_file()
    return local_path(path).stat().st_size if is_local_file else None


class _FinishedFile:
    """File next to `target`, or in the temporary folder if it will be sent to an address.

    A killed process leaves its partial file. So the file is open and locked until it is renamed,
    and unlocked partial files of the same target are removed. On Windows, being open is the lock.
    """

    def __init__(self, path, target):
        self.path = path
        self.target = target
        if target is None:
            self.file = tempfile.NamedTemporaryFile(delete=False)  # noqa: SIM115 - see discard
            return
        # A file system limits the bytes of a name, of which the partial file adds some.
        max_bytes = _max_name_bytes(target.parent) - len("..01234567.part")
        start = os.fsdecode(b"." + os.fsencode(target.name)[:max_bytes] + b".")
        _remove_abandoned(target.parent, start)
        is_locked = False
        while not is_locked:
            partial_path = target.with_name(f"{start}{secrets.token_hex(4)}.part")
            self.file = _open(partial_path, "xb")
            # Some file systems have no locks.
            with suppress(OSError):
                _lock(self.file)
            # Another run may have removed the file as abandoned before it was locked.
            is_locked = partial_path.exists()

    def publish(self):
        """Move the file to its path; raise an InputError if that fails."""
        try:
            if self.target is not None:
                # Windows does not rename an open file.
                if fcntl is None:
                    self.file.close()
                os.replace(self.file.name, self.target)
            else:
                send_file(self.file.name, str(self.path))
        except OSError as error:
            raise _write_error(self.path, error) from None
        self.discard()
        _written.append(str(self.path))

    def discard(self):
        # On a full disk, closing writes the rest of the content again, and fails again.
        with suppress(OSError):
            self.file.close()
        Path(self.file.name).unlink(missing_ok=True)


def _remove_abandoned(folder, start):
    """Remove the unlocked partial files of a folder whose names begin with `start`."""
    # A folder that cannot be listed has no matches.
    pattern = glob.escape(start) + 8 * "[0-9a-f]" + ".part"
    for name in glob.glob(pattern, root_dir=folder):
        # It may have been renamed meanwhile, be locked, or belong to another user.
        with suppress(OSError), ExitStack() as cleanup:
            if fcntl is not None:
                _lock(cleanup.enter_context(open(folder / name, "rb")))
            os.unlink(folder / name)


def _lock(file):
    """Lock an open file until it is closed; an OSError if another process has locked it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _max_name_bytes(folder):
    """Return how long a file name may be; Windows has no such call and allows 255 characters."""
    return os.pathconf(folder, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255


_unpublished: ContextVar[list[_FinishedFile] | None] = ContextVar("finished", default=None)
_written: list[str] = []


def _write_error(path, error):
    return InputError(
        f"{path} could not be written: {error.strerror or error}; no part of it was left behind: "
        "free disk space, or choose another path"
    )


def check_writable(path, *, name=None):
    """Raise an InputError if a path is not writable, before long work begins.

    Nothing is created. `name` replaces the path in messages.

    >>> check_writable("missing/answer")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: missing/answer: the folder missing does not exist; ...
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
    # A device or a named pipe is written directly.
    if target.exists() and not target.is_file():
        return
    if not folder.exists():
        raise InputError(f"{name}: the folder {folder} does not exist; create it first")
    if not folder.is_dir():
        raise InputError(f"{name}: {folder} is a file, not a folder; check the path")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{name}: the folder {folder} cannot be written to; try another")


def check_outputs(outputs, inputs):
    """Raise an InputError for outputs that are not writable, equal each other, or are inputs.

    Parameters
    ----------
    outputs : dict
        Paths by the name used in messages. A checkpoint may be an existing folder.
    inputs : list of path
        Files that are read, or folders whose files are all read.

    Examples
    --------
    >>> check_outputs({"out": "a.tsv", "report": "./a.tsv"}, [])
    Traceback (most recent call last):
    graphsqueak.errors.InputError: report ./a.tsv is the same file as out; give it another name
    """
    for what, path in outputs.items():
        name = f"{what} {path}"
        # The checkpoint of a merge tree is a folder of parts.
        is_folder = not is_remote(path) and local_path(path).is_dir()
        if not ("checkpoint" in what and is_folder):
            check_writable(path, name=name)
        _check_not_input(path, name, inputs)
    for (other, taken), (what, path) in combinations(outputs.items(), 2):
        if same_file(path, taken):
            raise InputError(f"{what} {path} is the same file as {other}; give it another name")


def is_file(path):
    """Return whether a path is an existing regular file, not a device or folder.

    >>> is_file("missing/answer"), is_file(os.devnull)
    (False, False)
    """
    return is_remote_file(path) if is_remote(path) else local_path(path).is_file()


def is_replaceable(path, resumes=None):
    """Return whether writing `path` loses nothing that the user made.

    This is so if no file exists, or if it is an unchanged output of the run that is resumed.
    `resumes` is the checkpoint of that run.
    """
    if not is_file(path):
        return True
    if not resumes or not is_note(note_of(resumes)):
        return False
    return _note_line(path, _digest(path)) in read_bytes(note_of(resumes))


def note_of(checkpoint):
    """Return the path of the note on the outputs of a run, next to its checkpoint."""
    return f"{str(checkpoint).rstrip('/')}.sha256"


def is_note(path):
    """Return whether a file is a note that `note_written` has written.

    >>> is_note("missing.ckpt.sha256")
    False
    """
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return file.read(len(_NOTE_HEADER)) == _NOTE_HEADER and all(map(_NOTE_LINE.fullmatch, file))


def note_written(checkpoint, paths):
    """Write the note on the outputs of a run, next to its checkpoint.

    Outputs that `written_together` has not published yet are included.
    """
    lines = [_NOTE_HEADER]
    partial_paths = {str(file.path): file.file.name for file in _unpublished.get() or ()}
    for path in paths:
        if path is not None and (str(path) in partial_paths or is_file(path)):
            lines.append(_note_line(path, _digest(partial_paths.get(str(path), path))))
    with atomic_file(note_of(checkpoint)) as file:
        file.write(b"".join(lines))


class Stopped(BaseException):
    """Exception for SIGINT and SIGTERM; `checkpoint` is the path of the saved state, or None.

    It is not a KeyboardInterrupt, which typer would handle itself.
    """

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.checkpoint = None


# Signals that arrived within `hold_signals`, and how many of its blocks are open.
_held_signals: list[int] = []
_hold_depth = 0


@contextmanager
def stoppable():
    """Raise `Stopped` on SIGINT and SIGTERM within the block; a second signal is never delayed."""
    # Python allows signal handlers in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held_signals.clear()
    _written.clear()
    with ExitStack() as cleanup:
        # A second signal stops at once and leaves the first, which must not stop later work.
        cleanup.callback(_held_signals.clear)
        for number in (signal.SIGINT, signal.SIGTERM):
            cleanup.callback(signal.signal, number, signal.signal(number, _stop))
        _resend_ignored_signals(cleanup)
        yield


def _resend_ignored_signals(cleanup):
    """Send a signal again if the exception that it raised was ignored, until `cleanup` is closed.

    Python ignores exceptions in finalizers. While numba compiles, many objects of LLVM are
    finalized, so that the run would continue in spite of the signal.
    """
    hook = sys.unraisablehook

    def send_again(unraisable):
        if not isinstance(unraisable.exc_value, Stopped):
            hook(unraisable)
            return
        # The finalizer has mostly ended after a short delay. If not, this happens again.
        number = unraisable.exc_value.number
        timer = threading.Timer(sys.getswitchinterval(), signal.raise_signal, [number])
        timer.daemon = True
        timer.start()
        cleanup.callback(timer.cancel)

    sys.unraisablehook = send_again
    cleanup.callback(setattr, sys, "unraisablehook", hook)


@contextmanager
def hold_signals():
    """Delay signals until the end of the block, for work that must not be interrupted midway."""
    global _hold_depth
    _hold_depth += 1
    try:
        yield
    finally:
        _hold_depth -= 1
    if _held_signals and not _hold_depth:
        raise Stopped(_held_signals.pop())


@contextmanager
def resumable_from(checkpoint):
    """Attach the checkpoint, a file or a folder of parts, to a `Stopped` raised in the block."""
    try:
        yield
    except Stopped as stop:
        if checkpoint is not None and (is_file(checkpoint) or files_in(checkpoint, "*.ckpt")):
            stop.checkpoint = checkpoint
        raise


def _note_line(path, digest):
    """Return a line of a note in the format of sha256sum."""
    name = str(path)
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    # A line with escapes begins with a backslash.
    prefix = "" if escaped == name else "\\"
    return os.fsencode(f"{prefix}{digest}  {escaped}\n")


def _digest(path):
    with open_bytes(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_not_input(path, name, inputs):
    """Raise an InputError if an output is an input, in an input folder, or matches a glob."""
    target = None if is_remote(path) else local_path(path)
    # A device or a named pipe may be both.
    if target is not None and target.exists() and not (target.is_file() or target.is_dir()):
        return
    for given in inputs:
        if same_file(path, given):
            raise InputError(f"{name} is an input of this run ({given}); give it another name")
        is_folder = is_remote(given) or local_path(given).is_dir()
        if (is_folder and is_within(path, given)) or matches(path, given):
            raise InputError(
                f"{name} lies in {given}, an input of this run: the next run would read it too; "
                "write it elsewhere"
            )
        if target is None or is_remote(given) or not target.exists():
            continue
        # A link elsewhere may lead to a file in the folder; a file has no files below it.
        if any(same_file(target, file) for file in local_path(given).rglob("*")):
            raise InputError(f"{name} is an input of this run, in {given}; give it another name")


def _open(target, mode):
    try:
        return open(target, mode)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}; check the path") from None


def _compressed(file, compression):
    """Return a context with an output file whose content goes to `file`, compressed."""
    if compression is None:
        return nullcontext(file)
    if compression == "gzip":
        # Without name and time, equal content gives equal bytes.
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
    if compression == "bzip2":
        return bz2.BZ2File(file, "wb")
    import zstandard

    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return compressor.stream_writer(file, closefd=False)


def _stop(number, frame):
    # The first signal waits for the end of `hold_signals`; a second one stops at once.
    if _hold_depth and not _held_signals:
        _held_signals.append(number)
    else:
        raise Stopped(number)
