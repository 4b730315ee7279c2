"""How objects with a state show themselves: a line of text, and in notebooks a table.

What is shown of a class is listed here by its name: attributes, and what they are in words. Those
that an object does not have yet are left out.
"""

from contextlib import suppress
from operator import attrgetter
from typing import Any

from graphsqueak.report.table import html_table

__all__ = ["Learned", "Shown"]

_ATTRIBUTES = {
    "BaseStream": {
        "n_edges_seen_": "edges seen",
        "n_nodes_": "nodes seen",
        "n_components_": "components",
        "budget_": "edges it may keep",
        "n_kept_": "edges held now",
        "n_shrinks_": "times it was thinned",
        "epsilon_predicted_": "epsilon, predicted",
    },
    "LaplacianSolver": {
        "matrix.n_nodes": "nodes",
        "tol": "relative residual wanted",
        "solver": "solver asked for",
        "solver_": "solver of the last solve",
        "n_iter_": "steps of the last solve",
        "residual_": "largest relative residual of it",
    },
    "StreamedSolver": {
        "tol": "relative residual wanted",
        "sparsifier_": "preconditioner",
        "n_passes_": "passes over the edges",
        "residual_": "largest relative residual of the last solve",
    },
}
_LEARNED = {
    "n_nodes_": "nodes",
    "classes_": "classes",
    "n_predicted": "nodes of each class, as labeled now",
    "n_unreached": "nodes that no label reaches",
    "eta_": "eta, as chosen",
    "n_edges_used_": "edges used",
    "n_passes_": "passes over the edges",
}


class Shown:
    """What is listed of its class, as text and as a table.

    Examples
    --------
    >>> class LaplacianSolver(Shown):
    ...     tol, n_iter_ = 1e-8, 1234
    >>> LaplacianSolver()
    LaplacianSolver(tol=1e-08, n_iter_=1234)
    >>> "<td>steps of the last solve</td><td>1,234</td>" in LaplacianSolver()._repr_html_()
    True
    """

    def _known(self):
        # A subclass shows what its parent shows, unless it is listed itself.
        names = (kind.__name__ for kind in type(self).__mro__)
        listed = next((_ATTRIBUTES[name] for name in names if name in _ATTRIBUTES), {})
        found = []
        for name, words in listed.items():
            with suppress(AttributeError):
                found.append((name.split(".")[-1], words, attrgetter(name)(self)))
        return found

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_text(value, '')}" for name, _, value in self._known())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self):
        rows = [(words, _text(value)) for _, words, value in self._known()]
        return html_table(rows, caption=type(self).__name__)


class Learned:
    """For estimators of scikit-learn: below its own picture, what was learned."""

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        rows = self._learned()
        if rows and "text/html" in bundle:
            bundle["text/html"] += html_table(rows, caption="learned", words=True)
        return bundle

    def _learned(self):
        found = {name: getattr(self, name, None) for name in _LEARNED}
        chosen, reached = getattr(self, "transduction_", None), getattr(self, "reached_", None)
        if chosen is not None and found["classes_"] is not None:
            sizes = [f"{name}: {int((chosen == name).sum()):,}" for name in found["classes_"]]
            found["n_predicted"] = ", ".join(sizes[:10]) + (", ..." if len(sizes) > 10 else "")
            found["classes_"] = len(sizes)
        if reached is not None:
            found["n_unreached"] = int((~reached).sum())
        return [
            (_LEARNED[name], _text(value)) for name, value in found.items() if value is not None
        ]


def _text(value, group=","):
    if isinstance(value, bool | str):
        return str(value)
    try:
        is_whole = float(value) == int(value) and abs(value) < 1e15
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return f"{int(value):{group}}" if is_whole else f"{float(value):.4g}"
