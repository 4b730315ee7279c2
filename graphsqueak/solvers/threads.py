"""When to share a loop among threads.

A parallel loop ends when its last thread does. On a busy machine that thread may wait for a core
far longer than a short loop takes, so only loops of at least `WORTH_SHARING` elementary steps
(about two milliseconds) are shared; how a loop is cut into parts never depends on it.
"""

import numba

__all__ = ["run"]

WORTH_SHARING = 2_000_000


def run(kernel, work, *arguments):
    """Call a parallel kernel, on a single thread if its `work` is small."""
    allowed = numba.get_num_threads()
    if allowed == 1 or work >= WORTH_SHARING:
        kernel(*arguments)
        return
    numba.set_num_threads(1)
    try:
        kernel(*arguments)
    finally:
        numba.set_num_threads(allowed)
