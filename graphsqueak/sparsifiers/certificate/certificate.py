"""What is known about the accuracy of a sparsifier, and what is when its components differ."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.validation import check_choice

__all__ = ["Certificate", "component_problem"]

_ROUNDING = 1e-8  # relative, of values that are computed on a sparsifier
_KAPPA = "lambda_max / lambda_min: so far apart two ratios are at most"


@dataclass(frozen=True)
class Certificate:
    """How far x' L_H x can be from x' L_G x, over all x.

    Attributes
    ----------
    epsilon_lower : float
        A vector x with an error of this size was found: the true epsilon is not smaller.
    epsilon_upper : float
        With probability 1 - delta over the certificate's own random start, no x has a larger error:
        (1 - epsilon_upper) L_G <= L_H <= (1 + epsilon_upper) L_G.
    lambda_min, lambda_max : float
        All ratios x' L_H x / x' L_G x lie between them, with the same probability.
    kappa : float
        lambda_max / lambda_min: no two ratios are further apart. A common factor on all weights of
        H changes epsilon and not kappa, which is what a preconditioner or a clustering feels.
    kappa_lower : float
        Two ratios so many times apart were found.
    optimal_scale, epsilon_rescaled : float
        The factor on all weights of H that makes epsilon least, 2 / (lambda_min + lambda_max), and
        the epsilon that is proved then, (kappa - 1) / (kappa + 1).
    delta : float
        0 when everything was computed exactly.
    ridge : float
        gamma, when both Laplacians stand for L + gamma I.
    steps, passes : int
        Lanczos steps, and how often the graph was read.
    seconds : float
    minimizing_pair, maximizing_pair : tuple of two ids, or None
        Where H is lightest against G (the nodes at which the worst x found is largest and
        smallest: an edge is missing between them) and where it is heaviest (the edge of H that
        holds most of the worst x' L_H x).
    problem : str
        Why epsilon is 1 or infinite, if the components of H and G differ; else empty.
    unresolved : str
        What keeps the two epsilons apart, if `rtol` was not reached in the steps allowed.
    history : list of (float, float)
        epsilon_lower and epsilon_upper after each step.
    ratios, shares : ndarray
        The estimated spectrum: ratios, and which share of all dimensions each stands for.
    """

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
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def kappa(self) -> float:
        """lambda_max / lambda_min, infinite where one of them is not known.

        >>> Certificate(0.5, 0.5, 0.5, 1.25, delta=0.0).kappa
        2.5
        """
        is_known = self.lambda_min > 0 and math.isfinite(self.lambda_max)
        return self.lambda_max / self.lambda_min if is_known else math.inf

    @property
    def optimal_scale(self) -> float:
        """The common factor on all weights that makes epsilon least; 0 where nothing is known.

        >>> halved = Certificate(0.6, 0.6, 0.4, 0.6, delta=0.0)
        >>> halved.optimal_scale, round(halved.epsilon_rescaled, 3)
        (2.0, 0.2)
        """
        return 2 / (self.lambda_min + self.lambda_max)

    @property
    def epsilon_rescaled(self) -> float:
        """The epsilon that is proved of H after `optimal_scale`."""
        return (self.kappa - 1) / (self.kappa + 1) if math.isfinite(self.kappa) else 1.0

    def meets(self, epsilon: float) -> bool:
        """Whether the accuracy is proved to be `epsilon` or better."""
        return self.epsilon_upper <= epsilon

    def bounds_on(self, values: ArrayLike, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Between what the graph's own values lie, given those of the sparsifier.

        From lambda_min L_G <= L_H <= lambda_max L_G follow, with the probability of the
        certificate for all at once,

            cuts, x'Lx          c_H / lambda_max <= c_G <= c_H / lambda_min
            eigenvalues         the same, for each in ascending order (Courant and Fischer)
            resistances         lambda_min r_H <= r_G <= lambda_max r_H
            conductances        f_H / kappa <= f_G <= kappa f_H

        for resistances because L_G^+ lies between lambda_min L_H^+ and lambda_max L_H^+, and for
        conductances, cuts over total degrees, because degrees are cuts, too; the eigenvalues of the
        normalized Laplacian, which are such ratios, are bracketed like them.

        Parameters
        ----------
        values : array
            Of the sparsifier, exact but for rounding.
        quantity : {"cuts", "eigenvalues", "resistances", "conductances"}

        Returns
        -------
        low, high : ndarray of the shape of `values`
            What is 0 or infinite on the sparsifier is so on the graph, if there is no `problem`.

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
                "this certificate is of L + ridge I and bounds no cut, eigenvalue or resistance; "
                "certify without a ridge"
            )
        given = np.asarray(values, dtype=np.float64)
        if self.lambda_min <= 0 or not math.isfinite(self.lambda_max):
            return np.zeros_like(given), np.full_like(given, np.inf)
        low, high = self.lambda_min, self.lambda_max
        if quantity == "conductances":
            low, high = low / high, high / low
        elif quantity != "resistances":
            low, high = 1 / high, 1 / low
        return given * low * (1 - _ROUNDING), given * high * (1 + _ROUNDING)

    def figures(self) -> dict[str, float]:
        """What is known in numbers, by name, as the commands print it with --json."""
        names = "epsilon_lower epsilon_upper lambda_min lambda_max kappa kappa_lower optimal_scale"
        return {name: getattr(self, name) for name in (*names.split(), "epsilon_rescaled", "delta")}

    def rows(self) -> list[tuple[str, Any, str]]:
        """Name, value and meaning of every figure, for tables."""
        sure = "always" if self.delta == 0 else f"with probability {1 - self.delta:g}"
        gamma = f" (L stands for L + {self.ridge:g} I)" if self.ridge else ""
        cuts = f"the graph's, nor any x'Lx{gamma}"
        rows: list[tuple[str, Any, str]] = [
            ("epsilon_lower", self.epsilon_lower, "an error of this size was found"),
            ("epsilon_upper", self.epsilon_upper, f"no error is larger, {sure}"),
            ("lambda_min", self.lambda_min, f"no cut weighs less than this times {cuts}"),
            ("lambda_max", self.lambda_max, f"no cut weighs more than this times {cuts}"),
            ("kappa", self.kappa, _KAPPA),
            ("optimal_scale", self.optimal_scale, self._rescaled()),
            ("steps", self.steps, f"passes over the edges: {self.passes}, in {self.seconds:.3g} s"),
        ]
        if self.minimizing_pair is not None:
            rows.append(
                (
                    "minimizing_pair",
                    _pair(self.minimizing_pair),
                    "the sparsifier is most too light between these",
                )
            )
            rows.append(
                ("maximizing_pair", _pair(self.maximizing_pair), "and most too heavy between these")
            )
        rows += [
            (name, said, "") for name in ("problem", "unresolved") if (said := getattr(self, name))
        ]
        return rows

    def _rescaled(self):
        if not math.isfinite(self.kappa):
            return "not known"
        return f"on all weights makes the error least: {self.epsilon_rescaled:.4g}"

    def in_words(self) -> str:
        """What the certificate says, to someone who thinks of cuts and not of matrices.

        >>> print(Certificate(0.2, 0.2, 0.8, 1.1, delta=0.0).in_words())
        Between any group of nodes and all others, the sparsifier has the graph's total weight
        within 20 %, always.
        >>> print(Certificate(1.7, 1.76, 0.12, 2.76, delta=0.01).in_words())
        Between a group of nodes and all others, the sparsifier has between 0.12 and 2.8 times the
        graph's total weight, with probability 0.99.
        """
        if self.problem:
            return f"This is no sparsifier: {self.problem}."
        if not math.isfinite(self.epsilon_upper):
            why = self.unresolved or "more steps are needed"
            return f"An error of {self.epsilon_lower:.3g} was found; none is excluded yet: {why}."
        sure = "always" if self.delta == 0 else f"with probability {1 - self.delta:g}"
        more = f" More is not known: {self.unresolved}." if self.unresolved else ""
        if self.epsilon_upper >= 1:  # no percentage says what that means
            return (
                "Between a group of nodes and all others, the sparsifier has between "
                f"{self.lambda_min:.2g} and {self.lambda_max:.2g} times the graph's total weight, "
                f"{sure}.{more}"
            )
        percent = math.ceil(1000 * self.epsilon_upper) / 10
        return (
            "Between any group of nodes and all others, the sparsifier has the graph's total "
            f"weight within {percent:g} %, {sure}.{more}"
        )

    def __str__(self):
        if self.problem:
            return f"epsilon {self.epsilon_lower:g}: {self.problem}"
        if self.delta == 0 and not self.unresolved:
            return f"epsilon {self.epsilon_upper:.4g}, exact"
        sure = "always" if self.delta == 0 else f"with probability {1 - self.delta:g}"
        return f"epsilon between {self.epsilon_lower:.4g} and {self.epsilon_upper:.4g}, {sure}"

    def _repr_html_(self):
        from graphsqueak.report.table import html_table

        rows = [(name, _short(value), meaning) for name, value, meaning in self.rows()]
        return html_table(rows, caption=str(self), words=True)

    def plot(self, ax: Any = None) -> Any:
        """The ratios x' L_H x / x' L_G x and how many dimensions have them, as a figure."""
        from graphsqueak.report.figure import spectrum

        return spectrum(self.ratios, self.shares, (self.lambda_min, self.lambda_max), ax=ax)


def _pair(pair):
    return f"{pair[0]} and {pair[1]}"


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def component_problem(component, sparsifier, ridge=0.0):
    """The fields of a certificate that says so, or None if the components agree.

    An edge between two components of G makes epsilon infinite: x' L_G x = 0 < x' L_H x for the
    indicator x of one. A component of G that falls apart in H makes it at least 1. With a ridge
    all ratios are finite, and components may differ.

    Parameters
    ----------
    component : ndarray
        The smallest node of each node's component in the graph.
    sparsifier : EdgeList
    ridge : float

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> component_problem(np.array([0, 0, 0]), EdgeList(tail=[0], head=[1], n_nodes=3))["problem"]
    'the graph joins 0 and 2, the sparsifier does not: it has lost a bridge, or belongs to ...'
    """
    if ridge > 0:
        return None
    names, tail, head = sparsifier.ids, sparsifier.tail, sparsifier.head
    joined = np.flatnonzero(component[tail] != component[head])
    if joined.size:
        u, v = names[tail[joined[0]]], names[head[joined[0]]]
        return _nothing_known(np.inf) | {
            "problem": f"the sparsifier joins {u} and {v}, which are in two components of the "
            "graph; it belongs to another graph"
        }
    own = sparsifier.components()
    split = np.flatnonzero(own[component] != own)
    if split.size:
        u, v = names[component[split[0]]], names[split[0]]
        return _nothing_known(1.0) | {
            "problem": f"the graph joins {u} and {v}, the sparsifier does not: it has lost a "
            "bridge, or belongs to another graph"
        }
    return None


def _nothing_known(epsilon_lower):
    return {
        "epsilon_lower": epsilon_lower,
        "epsilon_upper": np.inf,
        "lambda_min": 0.0,
        "lambda_max": np.inf,
        "delta": 0.0,
    }
