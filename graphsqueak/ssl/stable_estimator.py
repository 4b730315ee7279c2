"""Stable-HFS as an estimator in memory: what the classifier and the regressor share.

An estimator is an interface over four parts:

    problem            labels, their weights and targets     `labels`, `decisions.label_weights`
    solver             the minimizer for a given eta          `stable.HFSSolver`
    model selection    eta, and the weight of the prior       `model_selection`
    decision rule      from scores to classes                 `decisions.rule` (classifiers)

Classifier and regressor differ in the problem and in the decision rule; estimators in memory and
streamed ones (`streaming`) differ in the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.ssl.alignment import Labels
from graphsqueak.ssl.base import GraphEstimator
from graphsqueak.ssl.decisions.label_weights import weighted_labels
from graphsqueak.ssl.stable import LooSolver

__all__ = ["StableHFSEstimator"]


@dataclass(kw_only=True, eq=False, repr=False)
class StableHFSEstimator(GraphEstimator):
    """Base of the Stable-HFS classifier and regressor.

    In addition to those of `GraphEstimator`, a subclass has the methods

    `_candidate_etas(labels, inv_mean_degree)`
        The parameter eta, or values among which one is selected.
    `_answer(solver, graph, labels, etas)`
        Selects parameters, fits and decides; the result has the attributes `eta` and `fit`.
    `_accept(graph, labels, answer)`
        Sets the fitted attributes and returns self.
    """

    eta: float | str = "auto"
    tol: float = 1e-6

    def fit(
        self,
        X: GraphLike | ArrayLike,
        y: Labels,
        sample_weight: Labels | None = None,
    ) -> Self:
        """Fit the model to a graph and to the labels of some of its nodes.

        Parameters
        ----------
        X : GraphLike, or array of points
            A streaming estimator does not load it into memory.
        y : Labels
            Array of shape (n_nodes,), mapping from node ids to labels or values, pandas Series,
            table with the columns node and label, or path of such a table. -1 marks a node without
            a class, NaN a node without a value. Arrays are matched by position if that determines
            the node (`graphsqueak.ssl.alignment`).
        sample_weight : array of shape (n_nodes,), or mapping from node ids to weights, optional
            Weight of each label in the loss. A label of weight 0 is ignored.

        Returns
        -------
        self
        """
        # With `GraphNodes`, labels and weights are about the selected nodes.
        weights = self._values_for(X, sample_weight, "sample_weight")
        return self._fit(self._graph_of(X), self._values_for(X, y), weights)

    def _fit(self, X, y, sample_weight):
        graph = self._read(X)
        return self._fit_graph(graph, self._read_problem(y, sample_weight, graph))

    def _read_problem(self, y, sample_weight, graph):
        """Return the labels of the nodes of the graph, with their weights."""
        return weighted_labels(self._read_labels(y, graph), sample_weight, graph)

    def _fit_graph(self, graph, labels):
        """Fit to a graph in memory."""
        # Both candidates and solver measure alpha in units of 1 / (mean degree).
        solver = self._make_solver(graph, labels)
        etas = self._candidate_etas(labels, solver.inv_mean_degree)
        return self._accept(graph, labels, self._answer(solver, graph, labels, etas))

    def _make_solver(self, graph, labels, *, inv_mean_degree=None):
        return LooSolver(
            graph,
            labels,
            tol=self.tol,
            random_state=self.random_state,
            inv_mean_degree=inv_mean_degree,
        )
