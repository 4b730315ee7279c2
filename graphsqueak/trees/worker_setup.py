"""What a local worker does first; Dask loads this module into it.

Ctrl-C in a terminal goes to every process of the program. The first one stops the work and ends the
workers; these should not each complain as well.
"""

import signal

__all__ = ["dask_setup"]


def dask_setup(worker):
    """Leave Ctrl-C to the process that has the terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
