"""What can go wrong with an input, and what a result may have to confess."""

__all__ = [
    "AccuracyWarning",
    "ConvergenceWarning",
    "DistanceWeightsWarning",
    "InputError",
    "SavingWarning",
]


class InputError(ValueError):
    """The input cannot be used as it is; the message says what is wrong, where, and what to do."""


class AccuracyWarning(UserWarning):
    """A result is less accurate than was predicted."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before its tolerance; `residual` is the relative residual it reached."""

    def __init__(self, message: str, *, residual: float) -> None:
        super().__init__(message)
        self.residual = residual


class DistanceWeightsWarning(UserWarning):
    """A column of weights is named like distances but read as similarities: large is close."""


class SavingWarning(UserWarning):
    """A state could not be saved on the way; the work goes on without."""
