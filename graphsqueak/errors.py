"""Errors about the input and warnings about results.

A message is a sequence of pieces, so that parameters can be written as arguments or as options:
`InputError(Parameter("keep", 5.0), " is above 1")` is "keep=5.0 is above 1" in Python and
"--keep 5.0 is above 1" on the command line.
"""

from collections.abc import Callable
from typing import NamedTuple

__all__ = [
    "AccuracyWarning",
    "ConvergenceWarning",
    "DistanceWeightsWarning",
    "InputError",
    "Message",
    "Parameter",
    "SavingWarning",
]


class Parameter(NamedTuple):
    """Parameter in a message, with its value unless that is omitted.

    >>> print(Parameter("ids", "text"), Parameter("columns", (0, 1)), Parameter("delimiter"))
    ids='text' columns=(0, 1) delimiter
    """

    name: str
    value: object = ...

    def __str__(self) -> str:
        if self.value is ...:
            return self.name
        # Numbers of numpy print their type in repr, but not in str.
        value = repr(self.value) if isinstance(self.value, str) else self.value
        return f"{self.name}={value}"


class Message:
    """Text with parameters: strings, `Parameter`s and other messages, in order.

    >>> message = Message("pass ", Parameter("keep", 0.1))
    >>> str(Message("too large; ", message))
    'too large; pass keep=0.1'
    >>> message.render(lambda parameter: f"--{parameter.name} {parameter.value}")
    'pass --keep 0.1'
    """

    def __init__(self, *pieces: object) -> None:
        self.args = pieces

    def __str__(self) -> str:
        return self.render(str)

    def render(self, write_parameter: Callable[[Parameter], str]) -> str:
        """Return the text, with `write_parameter` applied to each parameter."""
        text = ""
        for piece in self.args:
            if isinstance(piece, Message):
                text += piece.render(write_parameter)
            elif isinstance(piece, Parameter):
                text += write_parameter(piece)
            else:
                text += str(piece)
        return text


class InputError(Message, ValueError):
    """Invalid input; the message names the problem, its place and the fix."""


class AccuracyWarning(Message, UserWarning):
    """Warning that a result is less accurate than predicted."""


class ConvergenceWarning(Message, UserWarning):
    """Warning that an iteration stopped before it reached its tolerance.

    Attributes
    ----------
    residual : float
        Relative residual at the end.
    """

    def __init__(self, *pieces: object, residual: float) -> None:
        super().__init__(*pieces)
        self.residual = residual


class DistanceWeightsWarning(Message, UserWarning):
    """Warning that weights with a name like distances are read as similarities."""


class SavingWarning(Message, UserWarning):
    """Warning that a state could not be saved; the run continues."""
