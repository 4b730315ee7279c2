"""Messages of the library in the words of the command line: columns=(0, 1) is --columns 0,1."""

import re

__all__ = ["in_options"]

_EXACT = {
    "weighted=False": "--no-weights",
    "weighted=True": "--weights",
    "n_edges=": "--edges ",
    "n_neighbors=": "--neighbors ",
}
_SAME = "columns|delimiter|layout|epsilon|keep|method|ids|delta|steps|rtol|ridge|eta|metric|weight"
_SAME += "|symmetrize|sigma|tree|workers|scheduler"


def in_options(message):
    """The message, with names of arguments as options.

    >>> in_options("4 columns; choose them, e.g. columns=(0, 1), or give weighted=False")
    '4 columns; choose them, e.g. --columns 0,1, or give --no-weights'
    >>> in_options("keep=5.0 is a share of the edges, at most 1")
    '--keep 5.0 is a share of the edges, at most 1'
    >>> in_options("give header=True (--header) or ids='text' (--ids text)")
    'give --header or --ids text'
    >>> in_options("name it (delimiter=)")
    'name it (--delimiter)'
    """
    message = re.sub(r"\b\w+='?\w+'? \((--[^)]+)\)", r"\1", message)  # where both are named
    for name, option in _EXACT.items():
        message = message.replace(name, option)
    message = re.sub(
        r"\bcolumns=\(([^)]*)\)", lambda found: "--columns " + found[1].replace(" ", ""), message
    )
    message = re.sub(rf"(?<![\w-])({_SAME})=(?=[)\s;]|$)", r"--\1", message)
    return re.sub(rf"(?<![\w-])({_SAME})=", r"--\1 ", message)
