"""Correct and Smooth [HHS21]: what a model gets wrong at labeled nodes is wrong around them, too.

To what the estimator says by the features of a node the residuals of the labeled ones are added,
y - p with p of an estimator that did not know y, spread by walks that stop with probability 1/5 a
step. The sum is smoothed as in `smoothed`, and mixed likewise.

References
----------
[HHS21] Huang, He, Singh, Lim, Benson. Combining label propagation and simple models out-performs
        graph neural networks. ICLR 2021.
"""

import numpy as np

from graphsqueak.ssl.features.smoothed import Smoothed

__all__ = ["CorrectAndSmooth"]

_GAMMA = 0.8


class CorrectAndSmooth(Smoothed):
    """`Smoothed`, with what is wrong at labeled nodes spread to others first [HHS21].

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn's kind
        Fitted to the features of the labeled nodes. A classifier has `predict_proba`.
    hops : int or "auto"
        Steps that residuals, and then predictions, are spread; of a file, half of the passes.
        "auto": 10 in memory, 4 of a file.
    n_folds : int
        Into which the labels are divided to choose by; the estimator is fitted so many times more.
    random_state : int or None
        Seeds the folds, and the sparsifier of a file.

    Attributes
    ----------
    transduction_, label_distributions_, weights_, chosen_, homophily_, homophily_error_, estimator_
        As of `Smoothed`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import networkx as nx
    >>> truth = np.arange(100) / 50
    >>> y = np.where(np.arange(100) % 3 == 0, truth, np.nan)
    >>> X = np.floor(truth)[:, None]      # whether in the first or in the second half
    >>> tree = DecisionTreeRegressor()
    >>> model = CorrectAndSmooth(tree, random_state=7).fit(nx.path_graph(100), y, X)
    >>> bool(np.abs(model.transduction_ - truth).max() < 0.1)
    True
    """

    def _starts(self, around, task, guesses, fold, knows, n_hops):
        honest = np.array(guesses)[fold, task.nodes]  # of models that did not know the label
        wrong = [np.zeros_like(guess) for guess in guesses]
        for part, known in zip(wrong, knows, strict=True):
            part[task.nodes[known]] = (task.targets - honest)[known] / (1 - _GAMMA)
        (errors,) = around.spread(wrong, n_hops, (_GAMMA,))
        return [guess + error for guess, error in zip(guesses, errors, strict=True)]
