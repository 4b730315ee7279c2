"""Mixins for `repr` and for the HTML representation in notebooks.

A class declares in `_shown` which of its attributes are part of it, with a description of each.
Attributes that do not exist yet, such as results of a method not called so far, are skipped.
"""

from contextlib import suppress
from operator import attrgetter
from typing import Any, ClassVar

from graphsqueak.report.table import html_table

__all__ = ["FittedReprMixin", "ReprMixin"]

_MAX_CLASSES = 10


class ReprMixin:
    """Mixin that prints the attributes in `_shown` as a line of text and as an HTML table.

    Examples
    --------
    >>> class Solver(ReprMixin):
    ...     _shown = {"tol": "tolerance", "n_iter_": "iterations", "residual_": "residual"}
    ...     tol = 1e-8
    ...     n_iter_ = 1234
    >>> Solver()
    Solver(tol=1e-08, n_iter_=1234)
    >>> "<td>iterations</td><td>1,234</td>" in Solver()._repr_html_()
    True
    """

    _shown: ClassVar[dict[str, str]] = {}

    def __repr__(self) -> str:
        values = _existing_values(self, self._shown)
        # A dotted path such as "rows.n_nodes" is printed by its last part.
        pairs = [
            f"{name.rpartition('.')[2]}={_format(value, thousands='')}"
            for name, value in values.items()
        ]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def _repr_html_(self):
        values = _existing_values(self, self._shown)
        rows = [(self._shown[name], _format(value)) for name, value in values.items()]
        return html_table(rows, caption=type(self).__name__)


class FittedReprMixin:
    """Mixin that adds a table of fitted attributes to scikit-learn's HTML representation."""

    _shown: ClassVar[dict[str, str]] = {
        "n_nodes_": "nodes",
        "classes_": "classes",
        "_class_sizes": "nodes of each class, as labeled now",
        "_n_unreached": "nodes that no label reaches",
        "eta_": "eta, as chosen",
        "n_edges_used_": "edges used",
        "n_passes_": "passes over the edges",
    }
    classes_: Any
    has_label_in_component_: Any
    transduction_: Any

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        values = _existing_values(self, self._shown)
        if "classes_" in values:
            values["classes_"] = len(values["classes_"])
        rows = [
            (self._shown[name], _format(value))
            for name, value in values.items()
            if value is not None
        ]
        if rows and "text/html" in bundle:
            bundle["text/html"] += html_table(rows, caption="learned", words=True)
        return bundle

    @property
    def _class_sizes(self):
        labels = self.transduction_
        sizes = [f"{name}: {int((labels == name).sum()):,}" for name in self.classes_]
        if len(sizes) > _MAX_CLASSES:
            sizes[_MAX_CLASSES:] = ["..."]
        return ", ".join(sizes)

    @property
    def _n_unreached(self):
        return int((~self.has_label_in_component_).sum())


def _existing_values(owner, names):
    """Return the values of the attributes that exist, by name."""
    values = {}
    for name in names:
        with suppress(AttributeError):
            values[name] = attrgetter(name)(owner)
    return values


def _format(value, thousands=","):
    if isinstance(value, bool | str):
        return str(value)
    try:
        # Whole numbers from 1e15 are printed in exponent form, like other large floats.
        is_whole = float(value) == int(value) and abs(value) < 1e15
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return f"{int(value):{thousands}}" if is_whole else f"{float(value):.4g}"
