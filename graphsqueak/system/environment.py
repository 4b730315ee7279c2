"""Settings of the machine in environment variables."""

import math
import os

from graphsqueak.errors import InputError


def number_from_environment(variable: str, default: float, *, least: float, meaning: str) -> float:
    """Return the number in an environment variable, or the default if it is not set.

    Parameters
    ----------
    variable : str
    default : float
    least : float
        Smaller numbers and NaN are errors.
    meaning : str
        Description of the number in the message of the error.

    Examples
    --------
    >>> number_from_environment("GRAPHSQUEAK_UNSET", 60.0, least=1, meaning="a number")
    60.0
    """
    text = os.environ.get(variable, "")
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    # NaN fails this comparison as well.
    if not number >= least:
        raise InputError(f"{variable}={text!r} is not {meaning}; unset it, or use one")
    return number
