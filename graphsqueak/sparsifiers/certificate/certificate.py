"""Certificate: two-sided bounds on the accuracy of a sparsifier.

H is an eps-sparsifier of G if

    (1 - eps) x' L_G x  <=  x' L_H x  <=  (1 + eps) x' L_G x     for every x.

The extreme ratios lambda_min and lambda_max of x' L_H x to x' L_G x determine eps. They also bound
cuts, eigenvalues, effective resistances and conductances of G, given those of H (`bounds_on`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sparsifiers.certificate.forest_norm import SQRT_EPS
from graphsqueak.validation import OtherNames, check_choice


@dataclass(frozen=True)
class Certificate(OtherNames):
    """Bounds on the ratios x' L_H x / x' L_G x over all x.

    Attributes
    ----------
    epsilon_lower : float
        Lower bound on epsilon: the relative error of a vector that was found.
    epsilon_upper : float
        Upper bound on epsilon, with probability 1 - delta over the random start of the
        measurement: (1 - epsilon_upper) L_G <= L_H <= (1 + epsilon_upper) L_G.
    lambda_min, lambda_max : float
        Lower and upper bound on all ratios, with the same probability.
    delta : float
        Failure probability of the upper bound. It is 0 if all ratios were computed.
    ridge : float
        gamma, if the certificate is about L + gamma I instead of L.
    steps : int
        Number of Lanczos steps.
    passes : int
        Number of passes over the graph.
    seconds : float
        Elapsed time.
    minimizing_pair : tuple of two ids, or None
        The nodes where the vector with the smallest ratio is largest and smallest. An edge between
        them would improve the sparsifier most.
    maximizing_pair : tuple of two ids, or None
        The edge of H that contributes most to x' L_H x for the vector x with the largest ratio.
    problem : str
        Why epsilon is at least 1 or infinite, if the components of H and G differ; else empty.
    unresolved : str
        Which bounds did not reach `rtol` in the steps allowed; else empty.
    kappa_lower : float
        Lower bound on kappa: the quotient of two ratios that were found.
    history : list of (float, float)
        epsilon_lower and epsilon_upper after each step.
    ratios, fractions : ndarray
        Estimated spectrum: ratios, and the fraction of all dimensions that each stands for.
    """

    _other_names: ClassVar[Mapping[str, str]] = {
        "bound": "epsilon_upper",
        "epsilon": "epsilon_upper, or epsilon_lower for the error that was found",
        "error": "epsilon_upper",
        "to_dict": "figures()",
        "to_pandas": "pandas.DataFrame(certificate.rows())",
    }

    epsilon_lower: float
    epsilon_upper: float
    lambda_min: float
    lambda_max: float
    delta: float
    ridge: float = 0.0
    steps: int = 0
    passes: int = 0
    seconds: float = 0.0
    minimizing_pair: tuple | None = None
    maximizing_pair: tuple | None = None
    problem: str = ""
    unresolved: str = ""
    kappa_lower: float = 1.0
    history: list = field(default_factory=list, repr=False)
    ratios: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    fractions: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    def __post_init__(self) -> None:
        # Bounds are computed from arrays. numpy scalars would show in repr and in doctests.
        for entry in fields(self):
            if entry.type is float:
                object.__setattr__(self, entry.name, float(getattr(self, entry.name)))

    @property
    def kappa(self) -> float:
        """Upper bound on the quotient of two ratios, lambda_max / lambda_min.

        A common factor on all weights of H changes epsilon but not kappa. The number of iterations
        of a preconditioned solver and the quality of a clustering depend on kappa.

        >>> Certificate(0.5, 0.5, 0.5, 1.25, delta=0.0).kappa
        2.5
        """
        is_bounded = self.lambda_min > 0 and math.isfinite(self.lambda_max)
        return self.lambda_max / self.lambda_min if is_bounded else math.inf

    @property
    def optimal_scale(self) -> float:
        """The factor on all weights that minimizes epsilon, 2 / (lambda_min + lambda_max).

        It is 0 if lambda_max is infinite.

        >>> halved = Certificate(0.6, 0.6, 0.4, 0.6, delta=0.0)
        >>> halved.optimal_scale, round(halved.epsilon_rescaled, 3)
        (2.0, 0.2)
        """
        return 2 / (self.lambda_min + self.lambda_max)

    @property
    def epsilon_rescaled(self) -> float:
        """Upper bound on epsilon of `optimal_scale` times H, (kappa - 1) / (kappa + 1)."""
        return (self.kappa - 1) / (self.kappa + 1) if math.isfinite(self.kappa) else 1.0

    def meets(self, epsilon: float) -> bool:
        """Return whether H is proved to be an `epsilon`-sparsifier."""
        return self.epsilon_upper <= epsilon

    def bounds_on(self, values: ArrayLike, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Bound values of the graph, given those of the sparsifier.

        lambda_min L_G <= L_H <= lambda_max L_G implies, for all values at once,

            cuts, x'Lx          c_H / lambda_max <= c_G <= c_H / lambda_min
            eigenvalues         the same, for each in ascending order (Courant-Fischer)
            resistances         lambda_min r_H <= r_G <= lambda_max r_H
            conductances        f_H / kappa <= f_G <= kappa f_H

        Conductances are cuts over total degrees, and degrees are cuts. The eigenvalues of the
        normalized Laplacian are quotients of the same kind and have the bounds of conductances.

        Parameters
        ----------
        values : array-like
            Values of the sparsifier, exact up to rounding.
        quantity : {"cuts", "eigenvalues", "resistances", "conductances"}
            What the values are.

        Returns
        -------
        low, high : ndarray of the shape of `values`
            Lower and upper bounds on the values of the graph.

        Raises
        ------
        InputError
            If the certificate was computed with a ridge.

        Examples
        --------
        >>> certificate = Certificate(0.5, 0.5, 0.5, 1.25, delta=0.0)
        >>> np.round(certificate.bounds_on([1.0, 4.0], quantity="cuts"), 6).tolist()
        [[0.8, 3.2], [2.0, 8.0]]
        >>> np.round(certificate.bounds_on([1.0, 4.0], quantity="resistances"), 6).tolist()
        [[0.5, 2.0], [1.25, 5.0]]
        """
        check_choice("quantity", quantity, ("cuts", "eigenvalues", "resistances", "conductances"))
        if self.ridge > 0:
            raise InputError(
                "a certificate with ",
                Parameter("ridge", self.ridge),
                f" is about L + ridge I and does not bound {quantity}; call certify without ridge",
            )
        values = np.asarray(values, dtype=np.float64)
        if not math.isfinite(self.kappa):
            return np.zeros_like(values), np.full_like(values, np.inf)
        if quantity == "resistances":
            low, high = self.lambda_min, self.lambda_max
        elif quantity == "conductances":
            low, high = 1 / self.kappa, self.kappa
        else:
            low, high = 1 / self.lambda_max, 1 / self.lambda_min
        # Eigenvalues and resistances come from iterative solvers with tolerances of about that.
        margin = SQRT_EPS
        return values * low * (1 - margin), values * high * (1 + margin)

    def figures(self) -> dict[str, float]:
        """Return all bounds by name, as the commands print them with --json."""
        names = (
            "epsilon_lower",
            "epsilon_upper",
            "lambda_min",
            "lambda_max",
            "kappa",
            "kappa_lower",
            "optimal_scale",
            "epsilon_rescaled",
            "delta",
        )
        return {name: getattr(self, name) for name in names}

    def rows(self) -> list[tuple[str, Any, str]]:
        """Return name, value and meaning of every figure, for tables."""
        form = f"x'Lx (with L + {self.ridge:g} I for L)" if self.ridge else "x'Lx"
        graph_value = f"that of the graph; the same for every {form}"
        rescaled = "not bounded"
        if math.isfinite(self.kappa):
            rescaled = (
                f"factor on all weights that minimizes the error: {self.epsilon_rescaled:.4g}"
            )
        meanings = {
            "epsilon_lower": "an error of this size was found",
            "epsilon_upper": f"no error is larger ({self._confidence})",
            "lambda_min": f"every cut is at least this times {graph_value}",
            "lambda_max": f"every cut is at most this times {graph_value}",
            "kappa": "lambda_max / lambda_min, independent of the scale of weights",
            "optimal_scale": rescaled,
            "steps": f"passes over the edges: {self.passes}, in {self.seconds:.3g} s",
            "minimizing_pair": "connected too weakly in the sparsifier",
            "maximizing_pair": "connected too strongly in the sparsifier",
            "problem": "",
            "unresolved": "",
        }
        rows = []
        for name, meaning in meanings.items():
            value = getattr(self, name)
            if isinstance(value, tuple):
                value = f"{value[0]} and {value[1]}"
            # Pairs and notes may be missing.
            if value not in (None, ""):
                rows.append((name, value, meaning))
        return rows

    @property
    def _confidence(self):
        return "exact" if self.delta == 0 else f"with probability {1 - self.delta:g}"

    def in_words(self) -> str:
        """Return the result as a sentence about cuts.

        >>> print(Certificate(0.2, 0.2, 0.8, 1.1, delta=0.0).in_words())
        Between any group of nodes and all others, the sparsifier has the graph's total weight
        within 20 % (exact).
        >>> print(Certificate(1.7, 1.76, 0.12, 2.76, delta=0.01).in_words())
        Between a group of nodes and all others, the sparsifier has between 0.12 and 2.8 times the
        graph's total weight (with probability 0.99).
        """
        if self.problem:
            return f"This is not a sparsifier of the graph: {self.problem}."
        if not math.isfinite(self.epsilon_upper):
            reason = self.unresolved or "more steps are needed"
            return (
                f"An error of {self.epsilon_lower:.3g} was found, without an upper bound: {reason}."
            )
        note = f" The bounds are not tight: {self.unresolved}." if self.unresolved else ""
        # An error of 100 % or more does not show that lambda_min may still be positive.
        if self.epsilon_upper >= 1:
            return (
                "Between a group of nodes and all others, the sparsifier has between "
                f"{self.lambda_min:.2g} and {self.lambda_max:.2g} times the graph's total weight "
                f"({self._confidence}).{note}"
            )
        percent = math.ceil(1000 * self.epsilon_upper) / 10
        return (
            "Between any group of nodes and all others, the sparsifier has the graph's total "
            f"weight within {percent:g} % ({self._confidence}).{note}"
        )

    def __str__(self):
        if self.problem:
            return f"epsilon {self.epsilon_lower:g}: {self.problem}"
        if self.delta == 0 and not self.unresolved:
            return f"epsilon {self.epsilon_upper:.4g}, exact"
        bounds = f"epsilon between {self.epsilon_lower:.4g} and {self.epsilon_upper:.4g}"
        return f"{bounds}, {self._confidence}"

    def _repr_html_(self):
        from graphsqueak.report.table import html_table

        rows = [
            (name, f"{value:.4g}" if isinstance(value, float) else value, meaning)
            for name, value, meaning in self.rows()
        ]
        return html_table(rows, caption=str(self), words=True)

    def plot(self, ax: Any = None) -> Any:
        """Plot the estimated distribution of the ratios x' L_H x / x' L_G x.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. Default: those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from graphsqueak.report.figure import spectrum

        return spectrum(self.ratios, self.fractions, (self.lambda_min, self.lambda_max), ax=ax)


def component_problem(component, sparsifier, ridge=0.0):
    """Return the certificate fields for components that differ, or None if they agree.

    An edge between two components of G makes epsilon infinite: x' L_G x = 0 < x' L_H x for the
    indicator x of one of them. A component of G that is split in H makes epsilon at least 1. With a
    ridge all ratios are finite, and components may differ.

    Parameters
    ----------
    component : ndarray
        The smallest node of each node's component in the graph.
    sparsifier : EdgeList
    ridge : float

    Returns
    -------
    dict or None
        Fields of a `Certificate`, with the reason in "problem".

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> component_problem(np.array([0, 0, 0]), EdgeList(tail=[0], head=[1], n_nodes=3))["problem"]
    'the graph joins 0 and 2, the sparsifier does not: it has lost a bridge, or belongs to ...'
    """
    if ridge > 0:
        return None
    own_component = sparsifier.components()
    is_joined = component[sparsifier.tail] != component[sparsifier.head]
    is_split = own_component[component] != own_component
    if is_joined.any():
        edge = np.argmax(is_joined)
        u = sparsifier.tail[edge]
        v = sparsifier.head[edge]
        least_epsilon = np.inf
        text = (
            "the sparsifier joins {} and {}, which are in two components of the graph; it belongs "
            "to another graph"
        )
    elif is_split.any():
        v = np.argmax(is_split)
        u = component[v]
        least_epsilon = 1.0
        text = (
            "the graph joins {} and {}, the sparsifier does not: it has lost a bridge, or belongs "
            "to another graph"
        )
    else:
        return None
    return {
        "epsilon_lower": least_epsilon,
        "epsilon_upper": np.inf,
        "lambda_min": 0.0,
        "lambda_max": np.inf,
        "delta": 0.0,
        "problem": text.format(sparsifier.ids[u], sparsifier.ids[v]),
    }
