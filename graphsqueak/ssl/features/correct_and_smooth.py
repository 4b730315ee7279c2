"""Correct and Smooth [HHS21]: propagate the errors of an estimator before its predictions.

At labeled nodes the residuals y - p are known, where p is the prediction of an estimator that was
fitted without the label. They are propagated to the other nodes by walks (`neighborhood`) and added
to the predictions (correct). The sum is propagated as in `smoothed` (smooth) and is part of the
same mixture.

References
----------
[HHS21] Huang, He, Singh, Lim, Benson. Combining label propagation and simple models out-performs
        graph neural networks. ICLR 2021.
"""

import numpy as np

from graphsqueak.ssl.features.neighborhood import continuation_probability
from graphsqueak.ssl.features.smoothed import Smoothed

__all__ = ["CorrectAndSmooth", "propagate_residuals"]


class CorrectAndSmooth(Smoothed):
    """Predictions of a model of node features, corrected and smoothed over a graph [HHS21].

    Use it like `Smoothed`, when neighbors of a node are likely to be mispredicted in the same way,
    as by features that were measured differently in different regions of the graph. It takes
    twice as many passes over a file.

    Parameters
    ----------
    estimator : classifier or regressor with the interface of scikit-learn
        Fitted to the features of the labeled nodes. A classifier needs `predict_proba`.
    hops : int
        Number of steps that residuals, and then predictions, are propagated; twice as many passes
        over a file.
    n_folds : int
        Number of folds of the labels, by which the weights of the mixture are fitted. The estimator
        is fitted once per fold and once to all labels.
    random_state : int or None
        Seeds the folds, and the sparsifier of a file.

    Attributes
    ----------
    transduction_, label_distributions_, weights_, chosen_, homophily_, homophily_error_, estimator_
        As in `Smoothed`.

    Examples
    --------
    A feature that separates the two halves of a path, on which the values increase:

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> import networkx as nx
    >>> truth = np.arange(100) / 50
    >>> y = np.where(np.arange(100) % 3 == 0, truth, np.nan)
    >>> X = np.floor(truth)[:, None]
    >>> tree = DecisionTreeRegressor()
    >>> model = CorrectAndSmooth(tree, random_state=7).fit(nx.path_graph(100), y, X)
    >>> bool(np.abs(model.transduction_ - truth).max() < 0.1)
    True
    """

    def _correct(self, neighborhood, labels, predictions, fold, train_sets, n_hops):
        return predictions + propagate_residuals(
            neighborhood, labels, predictions, fold, train_sets, n_hops=n_hops
        )


def propagate_residuals(neighborhood, labels, predictions, fold, train_sets, *, n_hops):
    """Propagate the residuals of the training labels of each fit.

    Parameters
    ----------
    neighborhood : Neighborhood
    labels : ClassLabels or RealLabels
    predictions : array of shape (n_fits, n_nodes, C)
        Of fits to the labels of each set in `train_sets`.
    fold : array of int, shape (l,)
        For each label, the index of a fit that did not use it.
    train_sets : list of arrays of int
        Indices of labels.
    n_hops : int

    Returns
    -------
    ndarray of shape (n_fits, n_nodes, C)
    """
    # Estimators fit their training labels too well: residuals are from fits without the label.
    residual = labels.targets - predictions[fold, labels.nodes]
    # A walk starts at a labeled node with probability 1 - gamma: divided by it, the residual of a
    # node without labeled neighbors is unchanged.
    start_probability = 1 - continuation_probability(n_hops)
    blocks = np.zeros(predictions.shape)
    for block, train in zip(blocks, train_sets, strict=True):
        block[labels.nodes[train]] = residual[train] / start_probability
    return neighborhood.propagate(blocks, n_hops)
