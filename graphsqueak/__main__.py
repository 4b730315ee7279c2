"""python -m graphsqueak, and the command of the same name."""

from graphsqueak.cli import run

__all__ = ["main"]


def main():
    """Run the command line and leave with its exit code."""
    raise SystemExit(run())


if __name__ == "__main__":
    main()
