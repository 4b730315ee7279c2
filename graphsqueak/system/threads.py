"""Work on the next items of a stream while the last one is being used."""

import os
import threading

import numba

__all__ = ["map_ahead"]

_END = object()
_LONGEST_READ = 1.0  # seconds to wait for one when stopping early; a silent pipe may take forever
_MANY = 1_000  # more than there are workers


def map_ahead(function, items, *, n_workers=None):
    """Yield function(item) for each item, in order, computed ahead in threads.

    Items are drawn one at a time, in order; the function runs on several at once. At most
    n_workers + 1 results wait, so memory is bounded. An exception, of the items or of the function,
    is raised where its result would have been. When the consumer stops early, so do the threads.
    Who is allowed one thread (`numba.set_num_threads`), as the tasks of a worker are, gets no more.

    >>> list(map_ahead(lambda number: number**2, range(5)))
    [0, 1, 4, 9, 16]
    """
    if numba.get_num_threads() == 1:
        yield from map(function, items)
        return
    n_workers = n_workers or min(4, os.cpu_count() or 1)
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
            self._draw.release()
        self._slots.release(_MANY)
