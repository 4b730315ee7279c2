"""python -m graphsqueak, and the command of the same name.

Imports of the command line take a while. An interrupt during this time ends the program with the
exit code that it has later, and without a traceback; so nothing else is imported before `main`.
"""

import os
import signal

__all__ = ["main"]


def main():
    """Run the command line and leave with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)

    import sys
    import warnings

    from graphsqueak.system.terminal import open_closed_streams

    open_closed_streams()
    sys.stdout.reconfigure(errors="backslashreplace")

    from graphsqueak.cli import run, show_warning

    warnings.showwarning = show_warning
    raise SystemExit(run())


def _leave(number, frame):
    """End the program at once: there is nothing to save before a command begins or after it."""
    try:
        os.write(2, b"graphsqueak: interrupted\n")
    finally:  # also if standard error is closed
        os._exit(128 + number)


if __name__ == "__main__":
    main()
