"""Progressive evaluation: predict, pay, learn, one row after another; regret; hard streams.

The online loss is the average of l(y_t, y^_t) over predictions made before the row was learnt from.
Regret is the sum of l(y_t, y^_t) - l(y_t, z_t'w*) against the best hypothesis in hindsight: in the
space a learner ends in, with features z of all points,

    w* = argmin_w sum_t l(y_t, z_t'w) + alpha |w|^2,

alpha the learner's own where it has one (the BATCH rows of [C17, Table 5.1]).

`flipped_blocks` makes streams against learners: blocks repeat one instance each, and in every
second block the label is flipped [ZL19, Section 6]. What was learnt in a block misleads in the next
one like it, so a learner must both adapt and keep few points: with the same point and alternating
targets, a dictionary that stores gradients grows with t, while the span has one dimension [C17,
Section 5.2.1].

References
----------
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
[ZL19] Zhang, Liao. Incremental randomized sketching for online kernel learning. ICML 2019.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.utils.validation import check_X_y

from graphsqueak.errors import InputError
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import Loss, loss_of
from graphsqueak.randomness import RandomState
from graphsqueak.report.curves import over_rounds
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count

__all__ = ["Run", "best_scores", "flipped_blocks", "progressive"]

_CHUNK = 1024
_SMOOTHED = 0.01  # the hinge is rounded off over so much of the margin


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
        Time of all rounds.
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
    def average_loss(self) -> float:
        """The online loss."""
        return float(self.losses.mean())

    @property
    def regret(self) -> np.ndarray:
        """Cumulative regret after every round."""
        if self.hindsight is None:
            raise InputError("regret needs a comparator; call progressive(..., regret=True)")
        return np.cumsum(self.losses - self.hindsight)

    def plot(self, *, label: str = "", ax: Any = None) -> Any:
        """The average loss so far, over rounds.

        Parameters
        ----------
        label : str
            Name of the curve.
        ax : matplotlib Axes, optional
            Those of another run, to compare.

        Returns
        -------
        matplotlib Axes
        """
        average = np.cumsum(self.losses) / np.arange(1, self.losses.size + 1)
        curves = {label or "average loss": average}
        if self.hindsight is not None:
            curves["in hindsight"] = np.full(average.size, self.hindsight.mean())
        return over_rounds(curves, what="average online loss", ax=ax)

    def __str__(self) -> str:
        text = f"loss {self.average_loss:.5f}"
        if self.error_rate is not None:
            text += f", errors {100 * self.error_rate:.2f} %"
        if self.hindsight is not None:
            text += f", regret {self.regret[-1]:.4g}"
        return f"{text}, {self.n_support} points kept, {self.seconds:.3g} s"


def progressive(
    learner: OnlineLearner,
    X: ArrayLike,
    y: ArrayLike,
    *,
    regret: bool = False,
    progress: Progress = False,
) -> Run:
    """Run a learner over the rows of X, as they are, and record every round.

    Parameters
    ----------
    learner : OnlineLearner
        It goes on from where it is.
    X : array of shape (n, d)
    y : array of shape (n,)
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
    loss = learner._loss()
    points, labels = check_X_y(X, y, dtype=np.float64, y_numeric=not loss.is_classification)
    classes = np.unique(labels) if loss.is_classification else None
    classes = getattr(learner, "classes_", classes)
    parts, marks = [], []
    began = time.perf_counter()
    with reporter(progress, type(learner).__name__, unit="rounds") as report:
        for start in range(0, len(points), _CHUNK):
            part = slice(start, start + _CHUNK)
            parts.append(learner.predict_then_learn(points[part], labels[part], classes=classes))
            done = min(start + _CHUNK, len(points))
            marks.append((done, learner.n_support_, time.perf_counter() - began))
            report(done, done / len(points), f"{learner.n_support_} points kept")
    scores, targets = np.concatenate(parts), learner._targets(labels)
    best = None
    if regret:
        alpha = getattr(learner, "alpha", math.sqrt(np.finfo(np.float64).eps))
        features = learner._own_features(points)
        columns = targets.reshape(len(targets), -1).T
        whole = [best_scores(features, y, loss=loss, alpha=alpha) for y in columns]
        best = _total(loss.value(targets, np.column_stack(whole).reshape(targets.shape)))
    rounds, support, elapsed = (np.array(column) for column in zip(*marks, strict=True))
    wrong = np.mean(learner._labels(scores) != labels) if loss.is_classification else None
    return Run(
        losses=_total(loss.value(targets, scores)),
        scores=scores,
        error_rate=None if wrong is None else float(wrong),
        n_support=learner.n_support_,
        seconds=float(elapsed[-1]),
        rounds=rounds,
        support=support,
        elapsed=elapsed,
        hindsight=best,
    )


def best_scores(
    features: np.ndarray, targets: np.ndarray, *, loss: str | Loss, alpha: float
) -> np.ndarray:
    """z_t'w* for every row of `features`.

    >>> best_scores(np.ones((2, 1)), np.ones(2), loss="squared", alpha=2.0)   # 2 / (2 + 2)
    array([0.5, 0.5])
    """
    law = loss if isinstance(loss, Loss) else loss_of(loss)
    if law.name == "squared":
        gram = features.T @ features + alpha * np.eye(features.shape[1])
        return features @ scipy.linalg.solve(gram, features.T @ targets, assume_a="pos")
    smooth = _ROUNDED.get(law.name, _pair)

    def objective(w):
        value, slope = smooth(law, targets, features @ w)
        return value.sum() + alpha * w @ w, features.T @ slope + 2 * alpha * w

    start = np.zeros(features.shape[1])
    w = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return features @ w


def flipped_blocks(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_blocks: int,
    n_repeats: int,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of X in blocks, and labels of which every second block's are flipped.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels -1 and 1.
    n_blocks : int
        Blocks, of a row each that is drawn at random.
    n_repeats : int
        Repetitions of a row in its block.
    random_state : int, numpy Generator or None

    Returns
    -------
    X, y : ndarray
        With n_blocks * n_repeats rows.

    Examples
    --------
    >>> X, y = flipped_blocks(np.eye(2), np.ones(2), n_blocks=2, n_repeats=3, random_state=7)
    >>> X.shape, y
    ((6, 2), array([ 1.,  1.,  1., -1., -1., -1.]))
    """
    points, label = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(points) != len(label) or not len(points):
        raise InputError(
            f"X has {len(points)} rows and y {len(label)}; give a label to each of some rows"
        )
    if not np.isin(label, (-1.0, 1.0)).all():
        raise InputError("labels are -1 and 1 here")
    n_blocks = check_count("n_blocks", n_blocks)
    rng = np.random.default_rng(random_state)
    chosen = rng.choice(len(points), size=n_blocks, replace=n_blocks > len(points))
    sign = np.where(np.arange(n_blocks) % 2, -1.0, 1.0)
    repeats = check_count("n_repeats", n_repeats)
    return np.repeat(points[chosen], repeats, axis=0), np.repeat(sign * label[chosen], repeats)


def _total(losses):
    """Of every round, over its classes."""
    return losses.sum(axis=1) if losses.ndim == 2 else losses


def _pair(loss, y, z):
    return loss.value(y, z), loss.derivative(y, z)


def _rounded_hinge(loss, y, z):
    value, slope = _rounded(1 - y * z)
    return value, -y * slope


def _rounded_both_sides(loss, y, z):
    (above, up), (below, down) = _rounded(z - y - loss.width), _rounded(y - z - loss.width)
    return above + below, up - down


def _rounded(margin):
    """max(0, margin), smooth, and its slope."""
    inside = np.clip(margin + _SMOOTHED, 0, 2 * _SMOOTHED)
    value = inside**2 / (4 * _SMOOTHED) + np.maximum(margin - _SMOOTHED, 0)
    return value, inside / (2 * _SMOOTHED)


_ROUNDED = {"hinge": _rounded_hinge, "epsilon_insensitive": _rounded_both_sides}
