"""Compiled kernels (numba) and threads.

Compiled code is cached on disk: next to its module, in the user's cache if the package is not
writable, and not at all if neither is. `NUMBA_CACHE_DIR` sets another folder.

Loops over `numba.prange` have a serial and a parallel form (`parallel_njit`), which return the same
bits: the partition of a loop never depends on the number of threads. `run_kernel` chooses the form.
A parallel loop ends with its slowest thread, which on a busy machine may wait long for a core.
Hence only loops of at least `WORTH_SHARING` steps, 2 to 10 ms, run in parallel. The parallel form
takes 2 to 4 times as long to compile as the serial one. It is compiled after a process has spent
0.1 to 0.5 s in such loops; later processes load it from the cache.

`prefetch_map` computes the items of a stream, such as the blocks of a file, ahead in threads. It
starts no thread if numba is limited to one.
"""

import contextlib
import functools
import hashlib
import queue
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic, register_jitable

# Steps of a loop that is worth running in parallel. A step takes about 1 ns in the solvers, where
# it is an entry of a matrix times a column, and 5 ns in the sparsifiers, where it is an edge.
# Halved or doubled, only loops of 1 to 4 ms, or 5 to 20 ms, run in the other form.
WORTH_SHARING = 2_000_000
# Parts of a loop, each for one thread, whatever the number of threads: results do not depend on it.
# Some kernels need a table of all nodes per part. Halved, at most four threads share a loop;
# doubled, the tables take 64 bytes more per node.
N_PARTS = 8
# The parallel form is compiled after this many loops of `WORTH_SHARING` steps, 0.1 to 0.5 s of
# work. Halved or doubled, the first run on a machine compiles a kernel after half or twice as much.
_CALLS_BEFORE_COMPILING = 50
# When a consumer of `prefetch_map` stops early, a read in progress gets this time to end, so that
# its file can be closed. Reading from a silent pipe may never end. Halved or doubled, a run on such
# a pipe ends that much earlier or later after Ctrl-C.
_CLOSE_TIMEOUT_SECONDS = 1.0
_END = object()


def njit_cached(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function on its first call, with a cache on disk; the GIL is released.

    >>> @njit_cached
    ... def _twice(x):
    ...     return 2 * x
    >>> _twice(21)
    42
    """
    if function is None:
        return functools.partial(njit_cached, **options)
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    kernel = numba.njit(**options)(function)
    if not getattr(numba.config, "DISABLE_JIT", 0):
        # Without a writable folder, numba raises a RuntimeError and nothing is cached.
        with contextlib.suppress(RuntimeError):
            kernel._cache = _KernelCache(function)
    return kernel


class _KernelCacheFile(IndexDataCacheFile):
    """Files of compiled code, named after the signature they were compiled for.

    Numba numbers them. If two processes compile a kernel for arrays of different layouts at the
    same time, both take the next number, and one signature then refers to the code of the other:
    later calls return wrong results without an error.
    """

    def save(self, key, data):
        """Save compiled code, then its entry of the index.

        Processes that save at the same time may lose entries, whose code is compiled again.
        """
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


class _KernelCache(FunctionCache):
    """Cache on disk of one kernel."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _KernelCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )


def read_only_views(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return read-only views of the arrays.

    Numba compiles a kernel separately for writable and for read-only arrays, such as the columns
    of an `EdgeList`. A kernel that gets read-only views only is compiled once.

    >>> read_only_views(np.zeros(3))[0].flags.writeable
    False
    """
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views


def inline_njit(function: Callable) -> Callable:
    """Make a function callable from kernels; elsewhere it stays a plain Python function.

    It takes half as long to compile as a kernel that Python can call.

    >>> @inline_njit
    ... def _square(x):
    ...     return x * x
    >>> @njit_cached
    ... def _cube(x):
    ...     return _square(x) * x
    >>> _cube(3)
    27
    """
    return register_jitable(function)


if getattr(numba.config, "DISABLE_JIT", 0):

    def prefetch(array, row, column):
        """Do nothing, since nothing is compiled."""

else:

    @intrinsic
    def prefetch(typing_context, array, row, column):
        """Load a row of a matrix into the CPU caches, starting at a column.

        Rows in random order arrive three times as fast.
        """

        def generate(context, builder, signature, arguments):
            array_type, *index_types = signature.args
            matrix = context.make_array(array_type)(context, builder, arguments[0])
            indices = [
                context.cast(builder, argument, index_type, numba.types.intp)
                for argument, index_type in zip(arguments[1:], index_types, strict=True)
            ]
            pointer = cgutils.get_item_pointer(context, builder, array_type, matrix, indices)
            byte_pointer = cgutils.voidptr_t
            # llvm.prefetch(address, is it a write, locality 0 to 3, is it data)
            options = [cgutils.int32_t(option) for option in (0, 3, 1)]
            function_type = ir.FunctionType(
                ir.VoidType(), [byte_pointer, *(option.type for option in options)]
            )
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer], function_type)
            builder.call(fetch, [builder.bitcast(pointer, byte_pointer), *options])
            return context.get_dummy_value()

        return numba.types.void(array, row, column), generate


def parts(n_items: int, n_parts: int = N_PARTS) -> np.ndarray:
    """Return where each of the (nearly) equal parts of a loop begins, and the end.

    >>> parts(16)
    array([ 0,  2,  4,  6,  8, 10, 12, 14, 16])
    """
    return np.linspace(0, n_items, n_parts + 1).astype(np.int64)


class parallel_njit:  # noqa: N801 - a decorator
    """Kernel whose loop over `numba.prange` may run in parallel; call it with `run_kernel`.

    Divisions by zero follow numpy in both forms, since numba's parallel loops allow no other rule.
    """

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._parallel_work = 0
        self.serial = njit_cached(function, error_model="numpy")

    @functools.cached_property
    def parallel(self):
        """Form for many threads."""
        # Numba's cache is indexed by name, so that the second form needs another one.
        serial = self._function
        name = f"{serial.__name__}_shared"
        copy = types.FunctionType(serial.__code__, serial.__globals__, name)
        copy.__qualname__ = name
        copy.__module__ = serial.__module__
        copy.__doc__ = serial.__doc__
        return njit_cached(copy, parallel=True)

    def is_ready(self, work: int) -> bool:
        """Add up parallel work; return whether the parallel form is cached or worth compiling."""
        self._parallel_work += work
        enough = _CALLS_BEFORE_COMPILING * WORTH_SHARING
        return self._parallel_work >= enough or self._is_cached

    @functools.cached_property
    def _is_cached(self):
        """Whether an earlier process left the parallel form on disk."""
        folder = None if numba.config.DISABLE_JIT else self.parallel.stats.cache_path
        return bool(folder) and any(Path(folder).glob(f"*.{self.parallel.__qualname__}-*.nbi"))


def run_kernel(kernel: parallel_njit, work: int, *arguments: Any) -> None:
    """Call a `parallel_njit` kernel, in parallel if its loop is long enough.

    Parameters
    ----------
    kernel : parallel_njit
    work : int
        Steps of this call: entries of a matrix times columns, or edges.
    *arguments
        Arguments of the kernel.

    Examples
    --------
    >>> @parallel_njit
    ... def _add_one(x):
    ...     for i in numba.prange(x.size):
    ...         x[i] += 1
    >>> numbers = np.zeros(3)
    >>> run_kernel(_add_one, numbers.size, numbers)
    >>> numbers
    array([1., 1., 1.])
    """
    is_long = work >= WORTH_SHARING and numba.get_num_threads() > 1
    if is_long and kernel.is_ready(work):
        kernel.parallel(*arguments)
    else:
        kernel.serial(*arguments)


def prefetch_map(
    function: Callable, items: Iterable, *, n_workers: int | None = None, n_spare: int = 0
) -> Iterator:
    """Yield function(item) for each item, in order, computed ahead in threads.

    Items are drawn one at a time, in order. At most n_workers + 1 results wait, so that memory is
    bounded. An exception is raised at the place of its result. The threads end when the consumer
    stops early. If numba is limited to one thread, as in the tasks of a worker, no thread is used.

    Parameters
    ----------
    function : callable
    items : iterable
    n_workers : int, optional
        Number of threads. Default: the number of numba's threads minus `n_spare`, at least 1.
    n_spare : int
        Cores to leave free: a consumer that computes all the time needs one.

    Examples
    --------
    >>> list(prefetch_map(lambda number: number**2, range(5)))
    [0, 1, 4, 9, 16]
    """
    if numba.get_num_threads() == 1:
        yield from map(function, items)
        return
    if n_workers is None:
        n_workers = max(numba.get_num_threads() - n_spare, 1)
    items = iter(items)
    # Results in the order of the items; a worker adds one when it draws the item.
    results: queue.SimpleQueue[Future] = queue.SimpleQueue()
    free_slots = threading.Semaphore(n_workers + 1)
    drawing = threading.Lock()
    is_closed = threading.Event()

    def work():
        while True:
            free_slots.acquire()
            result: Future = Future()
            # Every exception, KeyboardInterrupt included, is raised again by the consumer.
            try:
                with drawing:
                    if is_closed.is_set():
                        return
                    results.put(result)
                    item = next(items, _END)
                result.set_result(item if item is _END else function(item))
            except BaseException as error:
                result.set_exception(error)

    # Daemon threads: a worker that waits for a silent pipe must not keep the process alive.
    for _ in range(n_workers):
        threading.Thread(target=work, daemon=True).start()
    try:
        while (value := results.get().result()) is not _END:
            free_slots.release()
            yield value
    finally:
        is_closed.set()
        if drawing.acquire(timeout=_CLOSE_TIMEOUT_SECONDS):
            if hasattr(items, "close"):
                items.close()
            drawing.release()
        # Wake all workers that wait for a slot.
        free_slots.release(n_workers)
