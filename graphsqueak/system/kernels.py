"""Kernels and threads: loops over arrays, compiled when first called, and who runs them.

Compiled code is kept on disk: beside its module, or in the user's cache where the package cannot be
written to, or not at all where neither can; `NUMBA_CACHE_DIR` names another place.

A loop whose passes are independent may be shared among threads. A parallel loop ends when its last
thread does: on a busy machine that one may wait for a core far longer than a short loop takes, so
only loops of at least `WORTH_SHARING` elementary steps (about two milliseconds) are shared. And the
parallel form takes two to four times as long to compile as the serial one: it is compiled when a
process has done a tenth of a second of such work, and is there from the start in later ones. Both
forms give the same bits: how a loop is cut into parts never depends on the threads.

Items of a stream, such as the blocks of a file, are computed ahead in threads (`prefetch_map`), and
of two things that cannot be shared one is done in a thread while the other goes on
(`run_in_thread`). All keep to one thread where numba is allowed no more.
"""

import functools
import os
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

__all__ = [
    "WORTH_SHARING",
    "inline_njit",
    "njit_cached",
    "parallel_njit",
    "prefetch",
    "prefetch_map",
    "read_only_views",
    "run_in_thread",
    "run_kernel",
]

WORTH_SHARING = 2_000_000
_CALLS_WORTH_COMPILING = 50  # as many that are just worth sharing
_END = object()
_LONGEST_READ = 1.0  # seconds to wait for one when stopping early; a silent pipe may take forever
_MANY = 1_000  # more than there are workers


def njit_cached(function=None, **options):
    """A function that numba compiles when it is first called; other threads run meanwhile.

    >>> @njit_cached
    ... def _twice(x):
    ...     return 2 * x
    >>> _twice(21)
    42
    """
    if function is None:
        return functools.partial(njit_cached, **options)
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no directory to keep it in
        return numba.njit(**options)(function)


def read_only_views(*arrays):
    """The arrays as views that cannot be written to.

    Numba compiles once more for those, as the columns of an `EdgeList` are: a kernel that is only
    ever given frozen ones is compiled once.

    >>> import numpy as np
    >>> read_only_views(np.zeros(3))[0].flags.writeable
    False
    """
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views


def inline_njit(function):
    """A function that kernels call: part of their code, and plain Python for all others.

    It takes half as long to compile as a kernel, which Python may call.

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
        """Nothing, where nothing is compiled."""

else:

    @intrinsic
    def prefetch(typing_context, array, row, column):
        """Fetch a row of a matrix, from a column on, into the caches before it is needed.

        Rows that are gathered here and there arrive three times as fast.
        """

        def generate(context, builder, signature, arguments):
            kind = signature.args[0]
            matrix = context.make_array(kind)(context, builder, arguments[0])
            place = [
                context.cast(builder, argument, given, numba.types.intp)
                for argument, given in zip(arguments[1:], signature.args[1:], strict=True)
            ]
            word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
            place = cgutils.get_item_pointer(context, builder, kind, matrix, place)
            shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
            is_write, nearness, is_data = word(0), word(3), word(1)
            builder.call(fetch, [builder.bitcast(place, byte), is_write, nearness, is_data])
            return context.get_dummy_value()

        return numba.types.void(array, row, column), generate


class parallel_njit:  # noqa: N801 - a decorator
    """A kernel whose loop over `numba.prange` may be shared among threads; `run_kernel` calls it.

    Divisions by zero are numpy's in both forms: numba has no others in parallel loops.
    """

    def __init__(self, function):
        self._function = function
        self._work = self._asked = 0
        self.serial = njit_cached(function, error_model="numpy")

    @functools.cached_property
    def parallel(self):
        """The form for many threads; numba keeps it under a name of its own."""
        old = self._function
        new = types.FunctionType(old.__code__, old.__globals__, f"{old.__name__}_shared")
        new.__qualname__, new.__module__, new.__doc__ = new.__name__, old.__module__, old.__doc__
        return njit_cached(new, parallel=True)

    def pays(self, work, least):
        """Whether it has been asked for more than `least` work: less is done without compiling."""
        self._asked += work
        return self._asked > least

    def is_ready(self, work, enough):
        """Whether the parallel form was compiled, or is worth it by now."""
        self._work += work
        return self._work >= enough or self._is_kept

    @functools.cached_property
    def _is_kept(self):
        """Whether an earlier process left the parallel form on disk."""
        folder = None if numba.config.DISABLE_JIT else self.parallel.stats.cache_path
        return bool(folder) and any(Path(folder).glob(f"*.{self.parallel.__qualname__}-*.nbi"))


def run_kernel(kernel, work, *arguments, worth_sharing=WORTH_SHARING):
    """Call a `parallel_njit` kernel, on a single thread if its `work` is below `worth_sharing`.

    >>> import numpy as np
    >>> @parallel_njit
    ... def _add_one(x):
    ...     for i in numba.prange(x.size):
    ...         x[i] += 1
    >>> numbers = np.zeros(3)
    >>> run_kernel(_add_one, numbers.size, numbers)
    >>> numbers
    array([1., 1., 1.])
    """
    enough = _CALLS_WORTH_COMPILING * worth_sharing
    may_share = work >= worth_sharing and numba.get_num_threads() > 1
    form = kernel.parallel if may_share and kernel.is_ready(work, enough) else kernel.serial
    form(*arguments)


def run_in_thread(function, *arguments, **named):
    """Call a function in a thread, which has one core, and go on; returns how to ask for its value.

    >>> value = run_in_thread(sum, [20, 22])
    >>> value()
    42
    """
    if numba.get_num_threads() == 1:
        value = function(*arguments, **named)
        return lambda: value
    pool = ThreadPoolExecutor(1, initializer=numba.set_num_threads, initargs=(1,))
    future = pool.submit(function, *arguments, **named)
    pool.shutdown(wait=False)
    return future.result


def prefetch_map(function, items, *, n_workers=None, n_spare=0):
    """Yield function(item) for each item, in order, computed ahead in threads.

    Items are drawn one at a time, in order; the function runs on several at once. At most
    n_workers + 1 results wait, so memory is bounded. An exception, of the items or of the function,
    is raised where its result would have been. When the consumer stops early, so do the threads.
    Who is allowed one thread (`numba.set_num_threads`), as the tasks of a worker are, gets no more.
    There is a thread for every core but `n_spare`, four at most: a consumer that computes all the
    time is faster with a core of its own.

    >>> list(prefetch_map(lambda number: number**2, range(5)))
    [0, 1, 4, 9, 16]
    """
    if numba.get_num_threads() == 1:
        yield from map(function, items)
        return
    n_workers = n_workers or max(min(4, (os.cpu_count() or 1) - n_spare), 1)
    desk = _Desk(iter(items), function, n_workers + 1)
    for _ in range(n_workers):
        threading.Thread(target=desk.work, daemon=True).start()
    try:
        while True:
            result, error = desk.take()
            if error is not None:
                raise error
            if result is _END:
                return
            yield result
    finally:
        desk.close()


class _Desk:
    """Where workers put numbered results and the consumer takes them in order."""

    def __init__(self, items, function, n_slots):
        self._items, self._function = items, function
        self._draw = threading.Lock()
        self._slots = threading.Semaphore(n_slots)
        self._changed = threading.Condition()
        self._results = {}
        self._n_drawn = self._n_taken = 0
        self._closed = False

    def work(self):
        item = None
        while item is not _END:
            self._slots.acquire()
            result, error = _END, None
            with self._draw:
                if self._closed:
                    return
                number, self._n_drawn = self._n_drawn, self._n_drawn + 1
                try:
                    item = next(self._items, _END)
                except BaseException as failure:  # handed to the consumer, whatever it is
                    item, error = _END, failure
                    self._closed = True
            if item is not _END:
                try:
                    result = self._function(item)
                except BaseException as failure:
                    error = failure
            with self._changed:
                self._results[number] = (result, error)
                self._changed.notify()

    def take(self):
        with self._changed:
            self._changed.wait_for(lambda: self._n_taken in self._results)
            outcome = self._results.pop(self._n_taken)
            self._n_taken += 1
        self._slots.release()
        return outcome

    def close(self):
        """Stop the workers; a read under way may end first, so that its file can be closed."""
        self._closed = True
        if self._draw.acquire(timeout=_LONGEST_READ):
            if hasattr(self._items, "close"):
                self._items.close()
            self._draw.release()
        self._slots.release(_MANY)
