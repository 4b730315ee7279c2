"""Where the real data of the studies are: in --data FOLDER, $GRAPHSQUEAK_DATA or ../shared/data.

The folder holds one folder per data set, as its publisher names the files: spambase/spambase.data,
ca-AstroPh/astro-ph-cc1.jlg.gz. A study goes on without what is absent, and says so on standard
error.
"""

import argparse
import os
import sys
from pathlib import Path

__all__ = ["add_data_option", "data_file", "load_present"]

VARIABLE = "GRAPHSQUEAK_DATA"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def add_data_option(parser):
    """Give a study the option --data, which goes before the variable."""
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        action=_SetFolder,
        help=f"real data; default: ${VARIABLE}, else ../shared/data beside the repository",
    )


class _SetFolder(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        if not Path(values).is_dir():
            parser.error(f"--data {values}: there is no such folder")
        os.environ[VARIABLE] = values  # so that processes that the study starts see it too


def data_file(*names):
    """The path of a file; FileNotFoundError if it is not there."""
    path = Path(os.environ.get(VARIABLE, BESIDE), *names)
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    return path


def load_present(makers, names=None):
    """Yield (name, what it makes) of those whose files are there; names of the others are printed.

    `makers` maps names to functions; `names` are those wanted, in order (default: all).
    """
    for name in makers if names is None else names:
        try:
            yield name, makers[name]()
        except FileNotFoundError as missing:
            print(
                f"{name}: left out, {missing.filename} is not there; give --data FOLDER or set "
                f"{VARIABLE}",
                file=sys.stderr,
            )
