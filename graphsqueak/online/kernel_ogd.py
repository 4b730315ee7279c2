"""Kernel online gradient descent: no budget, every point with a slope is kept."""

from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.gradient import Expansion, gradient_rule
from graphsqueak.online.learner import OnlineLearner

__all__ = ["KernelOGD"]


class KernelOGD(OnlineLearner):
    """Functional gradient descent; O(t) a round (see `gradient`).

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge", "hinge"}
    clip : float or None
        Bound of predictions, if any.
    learning_rate, regularization : float
        eta and lam.

    Attributes
    ----------
    n_support_, n_rounds_ : int

    Examples
    --------
    >>> m = KernelOGD(kernel="linear", learning_rate=0.25)
    >>> m.learn_one([1.0], 1.0).predict_one([1.0])     # 2 eta y
    0.5
    """

    _needs_clip = False

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        loss="squared",
        clip=None,
        learning_rate=0.1,
        regularization=0.0,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.learning_rate = learning_rate
        self.regularization = regularization

    @property
    def n_support_(self):
        return len(self._expansion.a)

    def _begin(self, n_features):
        rule = gradient_rule(self.loss, self.learning_rate, self.regularization, self._bound())
        self._expansion = Expansion(as_kernel(self.kernel, self.kernel_params), n_features, rule)

    def _scores(self, points):
        return self._expansion.scores(points)

    def _features_of(self, points):
        return Embedding(self._expansion.kernel, self._expansion.points)(points)

    def _learn(self, points, targets):
        return self._expansion.run(points, targets)
