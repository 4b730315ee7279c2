"""Progressive evaluation: predict, pay, learn, one row after another.

The online loss is the average of l(y_t, y^_t) over predictions made before the row was learnt from;
regret is the sum of l(y_t, y^_t) - l(y_t, z_t'w*) against the best hypothesis in hindsight.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_X_y

from graphsqueak.errors import InputError
from graphsqueak.online.hindsight import best_scores
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_of
from graphsqueak.report.figure import over_rounds
from graphsqueak.system.progress import reporter

__all__ = ["Run", "progressive"]

_CHUNK = 1024


@dataclass(frozen=True)
class Run:
    """What happened in `progressive`.

    Attributes
    ----------
    losses, scores : ndarray
        Of every round.
    error_rate : float or None
        Share of wrong labels; None in regression.
    n_support : int
        Points (or frequencies) that the learner ended with.
    seconds : float
    rounds, support, elapsed : ndarray
        The curves of points kept and of time: values after so many rounds.
    hindsight : ndarray or None
        Losses of the best hypothesis in hindsight, if asked for.
    """

    losses: np.ndarray
    scores: np.ndarray
    error_rate: float | None
    n_support: int
    seconds: float
    rounds: np.ndarray
    support: np.ndarray
    elapsed: np.ndarray
    hindsight: np.ndarray | None

    @property
    def average_loss(self):
        return float(self.losses.mean())

    @property
    def regret(self):
        """Cumulative regret after every round."""
        if self.hindsight is None:
            raise InputError("regret needs a comparator; call progressive(..., regret=True)")
        return np.cumsum(self.losses - self.hindsight)

    def plot(self, *, label="", ax=None):
        """The average loss so far, over rounds; on the axes of another run to compare."""
        average = np.cumsum(self.losses) / np.arange(1, self.losses.size + 1)
        curves = {label or "average loss": average}
        if self.hindsight is not None:
            curves["in hindsight"] = np.full(average.size, self.hindsight.mean())
        return over_rounds(curves, what="average online loss", ax=ax)

    def __str__(self):
        text = f"loss {self.average_loss:.5f}"
        if self.error_rate is not None:
            text += f", errors {100 * self.error_rate:.2f} %"
        if self.hindsight is not None:
            text += f", regret {self.regret[-1]:.4g}"
        return f"{text}, {self.n_support} points kept, {self.seconds:.3g} s"


def progressive(learner, X, y, *, regret=False, progress=False):
    """Run a learner over the rows of X, as they are, and record every round.

    Parameters
    ----------
    learner : OnlineLearner
        It goes on from where it is.
    X, y : arrays
    regret : bool
        Compare with the best hypothesis in hindsight, in the space the learner ends in.
    progress : bool or callable
        A bar, or a function called as progress(done, fraction, note).

    Returns
    -------
    Run

    Examples
    --------
    >>> from graphsqueak.online import KONS
    >>> run = progressive(KONS(kernel="linear", alpha=2.0), np.ones((2, 1)), np.ones(2))
    >>> run.scores, run.average_loss, run.n_support
    (array([0. , 0.5]), 0.625, 2)
    """
    if not isinstance(learner, OnlineLearner):
        raise InputError(f"progressive takes a learner of graphsqueak.online, not {learner!r}")
    loss = loss_of(learner.loss)
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=not loss.is_classification)
    settings = {"classes": np.unique(y)} if loss.is_classification else {}
    if hasattr(learner, "classes_"):
        settings["classes"] = learner.classes_
    scores, marks = [], []
    began = time.perf_counter()
    with reporter(progress, type(learner).__name__, unit="rounds") as report:
        for start in range(0, len(X), _CHUNK):
            part = slice(start, start + _CHUNK)
            scores.append(learner.predict_then_learn(X[part], y[part], **settings))
            done = min(start + _CHUNK, len(X))
            marks.append((done, learner.n_support_, time.perf_counter() - began))
            report(done, done / len(X), f"{learner.n_support_} points kept")
    scores, targets = np.concatenate(scores), learner._targets(y)
    best = None
    if regret:
        alpha = getattr(learner, "alpha", math.sqrt(np.finfo(np.float64).eps))
        best = best_scores(learner._features_of(X), targets, loss=learner.loss, alpha=alpha)
        best = loss.value(targets, best)
    rounds, support, elapsed = (np.array(column) for column in zip(*marks, strict=True))
    wrong = np.mean((scores > 0) != (targets > 0)) if loss.is_classification else None
    return Run(
        losses=loss.value(targets, scores),
        scores=scores,
        error_rate=None if wrong is None else float(wrong),
        n_support=learner.n_support_,
        seconds=float(elapsed[-1]),
        rounds=rounds,
        support=support,
        elapsed=elapsed,
        hindsight=best,
    )
