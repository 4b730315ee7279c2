"""Prequential evaluation (predict, then learn, row by row), regret, and adversarial streams.

The online loss is the mean of l(y_t, y^_t) over predictions made before the row was learned. Regret
is the sum of l(y_t, y^_t) - l(y_t, z_t'w*), compared with the best hypothesis in hindsight. In the
space that the learner ends in, with features z of all points, that is

    w* = argmin_w sum_t l(y_t, z_t'w) + alpha |w|^2,

with the learner's own alpha if it has one (the BATCH rows of [C17, Table 5.1]).

`flipped_blocks` generates a stream that is hard for online learners: each block repeats one point,
and labels are flipped in every second block [ZL19, Section 6]. What is learned in one block is
wrong in the next one like it, so a learner must adapt and keep few points. If one point is repeated
with alternating targets, a dictionary of gradients grows with t, but the span has one dimension
[C17, Section 5.2.1].

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
from graphsqueak.online.learner import OnlineLearner, decode_scores, encode_labels
from graphsqueak.online.losses import Loss, get_loss
from graphsqueak.randomness import RandomState
from graphsqueak.report.curves import over_rounds
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count

# Rounds between two reports of progress and two points of the curves. Halved or doubled, there are
# twice or half as many of both.
ROUNDS_PER_REPORT = 1024
# Half the width of the interval in which kinks of losses are replaced by parabolas, so that the
# best hypothesis can be found by a method for smooth functions. A loss differs by at most a quarter
# of it: halved or doubled, so does this error.
SMOOTHING = 0.01


@dataclass(frozen=True)
class PrequentialRun:
    """The result of `run_prequential`.

    Attributes
    ----------
    losses, scores : ndarray
        One entry per round.
    error_rate : float or None
        Fraction of wrong labels; None for regression.
    n_support : int
        Number of support points (or frequencies) at the end.
    seconds : float
        Time of all rounds.
    rounds, support, elapsed : ndarray
        Numbers of rounds, and the number of support points and the time after them.
    hindsight : ndarray or None
        Losses of the best hypothesis in hindsight, for regret=True.
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
            raise InputError("regret needs a comparator; call run_prequential(..., regret=True)")
        return np.cumsum(self.losses - self.hindsight)

    def plot(self, *, label: str = "", ax: Any = None) -> Any:
        """Plot the average loss so far over rounds.

        Parameters
        ----------
        label : str
            Name of the curve.
        ax : matplotlib Axes, optional
            Axes of another run, for comparison.

        Returns
        -------
        matplotlib Axes
        """
        # Mean of the first t losses, for every t.
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


def run_prequential(
    learner: OnlineLearner,
    X: ArrayLike,
    y: ArrayLike,
    *,
    regret: bool = False,
    progress: Progress = False,
) -> PrequentialRun:
    """Predict, then learn, each row of X in order, and record every round.

    Parameters
    ----------
    learner : OnlineLearner
        If it has learned before, it continues.
    X : array of shape (n, d)
    y : array of shape (n,)
    regret : bool
        Also compute the losses of the best hypothesis in hindsight.
    progress : bool or callable
        Show a progress bar, or call a function as progress(done, fraction, note).

    Returns
    -------
    PrequentialRun

    Examples
    --------
    >>> from graphsqueak.online import KONS
    >>> run = run_prequential(KONS(kernel="linear", alpha=2.0), np.ones((2, 1)), np.ones(2))
    >>> run.scores, run.average_loss, run.n_support
    (array([0. , 0.5]), 0.625, 2)
    """
    if not isinstance(learner, OnlineLearner):
        raise InputError(f"learner must be a learner of graphsqueak.online, not {learner!r}")
    loss = get_loss(learner.loss, learner.tolerance)
    points, labels = check_X_y(X, y, dtype=np.float64, y_numeric=not loss.is_classification)
    # Chunks need not contain all classes.
    classes = np.unique(labels) if loss.is_classification else None
    if hasattr(learner, "classes_"):
        classes = learner.classes_
    score_chunks = []
    curve = []
    started_at = time.perf_counter()
    with reporter(progress, type(learner).__name__, unit="rounds") as report:
        for start in range(0, len(points), ROUNDS_PER_REPORT):
            rows = slice(start, start + ROUNDS_PER_REPORT)
            score_chunks.append(
                learner.predict_then_learn(points[rows], labels[rows], classes=classes)
            )
            n_done = min(rows.stop, len(points))
            curve.append((n_done, learner.n_support_, time.perf_counter() - started_at))
            report(n_done, n_done / len(points), f"{learner.n_support_} points kept")
    scores = np.concatenate(score_chunks)
    rounds, support, elapsed = (np.array(column) for column in zip(*curve, strict=True))
    error_rate = None
    # One row of targets per model.
    targets = (
        np.array([labels], dtype=np.float64) if classes is None else encode_labels(labels, classes)
    )
    if classes is not None:
        error_rate = float(np.mean(decode_scores(scores, classes) != labels))
    return PrequentialRun(
        losses=loss.value(targets, scores.T).sum(axis=0),
        scores=scores,
        error_rate=error_rate,
        n_support=learner.n_support_,
        seconds=float(elapsed[-1]),
        rounds=rounds,
        support=support,
        elapsed=elapsed,
        hindsight=_losses_in_hindsight(learner, points, targets, loss) if regret else None,
    )


def _losses_in_hindsight(learner, points, targets, loss):
    """Return the losses of the best hypothesis, summed over classes."""
    # Learners without alpha get just enough regularization for a unique solution.
    default = math.sqrt(np.finfo(np.float64).eps)
    alpha = learner.get_params().get("alpha", default)
    features = learner.models_[0].features(points)
    losses = np.zeros(len(points))
    for row in targets:
        losses += loss.value(row, best_scores(features, row, loss=loss, alpha=alpha))
    return losses


def best_scores(
    features: np.ndarray, targets: np.ndarray, *, loss: Loss, alpha: float
) -> np.ndarray:
    """Return z_t'w* for every row z_t of `features`.

    >>> squared = get_loss("squared")
    >>> best_scores(np.ones((2, 1)), np.ones(2), loss=squared, alpha=2.0)   # 2 / (2 + 2)
    array([0.5, 0.5])
    """
    if loss.name == "squared":
        # Least squares has a closed form.
        gram = features.T @ features + alpha * np.eye(features.shape[1])
        return features @ scipy.linalg.solve(gram, features.T @ targets, assume_a="pos")

    def objective(w):
        values, slopes = _smooth_loss(loss, targets, features @ w)
        return values.sum() + alpha * w @ w, features.T @ slopes + 2 * alpha * w

    # The objective is convex, so any start leads to the minimum.
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
    """Return a stream of blocks that repeat one point, with flipped labels in every second block.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels -1 and 1.
    n_blocks : int
        Number of blocks, each with one random row of X.
    n_repeats : int
        Number of rounds per block.
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
    points = np.asarray(X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64)
    if len(points) != len(labels) or not len(points):
        raise InputError(
            f"X has {len(points)} rows and y {len(labels)}; give one label per row, at least one"
        )
    if not np.isin(labels, (-1.0, 1.0)).all():
        raise InputError("y contains labels other than -1 and 1; encode the labels as -1 and 1")
    n_blocks = check_count("n_blocks", n_blocks)
    n_repeats = check_count("n_repeats", n_repeats)
    rng = np.random.default_rng(random_state)
    # Different rows, as long as there are enough of them.
    chosen = rng.choice(len(points), size=n_blocks, replace=n_blocks > len(points))
    # The first block has the true label, the second the opposite one, ...
    signs = np.where(np.arange(n_blocks) % 2, -1.0, 1.0)
    return (
        np.repeat(points[chosen], n_repeats, axis=0),
        np.repeat(signs * labels[chosen], n_repeats),
    )


def _smooth_loss(loss, y, z):
    """Return values and derivatives of a differentiable approximation of the loss."""
    if loss.name == "hinge":
        value, slope = _smooth_positive_part(1 - y * z)
        return value, -y * slope
    if loss.name == "epsilon_insensitive":
        above, slope_above = _smooth_positive_part(z - y - loss.tolerance)
        below, slope_below = _smooth_positive_part(y - z - loss.tolerance)
        return above + below, slope_above - slope_below
    return loss.value(y, z), loss.derivative(y, z)


def _smooth_positive_part(x):
    """Return max(0, x), with a parabola around the kink, and its derivative."""
    inside = np.clip(x + SMOOTHING, 0, 2 * SMOOTHING)
    value = inside**2 / (4 * SMOOTHING) + np.maximum(x - SMOOTHING, 0)
    return value, inside / (2 * SMOOTHING)
