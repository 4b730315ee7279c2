"""Bases of the results of an analysis: a table to print, a data frame, and an array."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from graphsqueak.report.table import html_table, text_table
from graphsqueak.system.frames import ArrowExport


class ArrayResult(ArrowExport):
    """Result that numpy converts to its main array, and that prints as one named figure per line.

    Subclasses implement `rows`, name the array in `_array`, and return the columns of the data
    frame (`to_pandas`, `to_polars`) from `_columns`.
    """

    _array: ClassVar[str]

    def rows(self) -> list[tuple]:
        """Return the rows of the table."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(getattr(self, self._array), dtype=dtype, copy=copy)

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self):
        return html_table(self.rows(), words=True)


class TableResult(ArrayResult):
    """Result that prints as a table with a header and a caption.

    Subclasses also implement `_header` and `_caption`.

    Examples
    --------
    >>> class Degrees(TableResult):
    ...     _array = "values"
    ...     values = np.array([2, 1, 1])
    ...     def rows(self):
    ...         return list(enumerate(self.values.tolist()))
    ...     def _header(self):
    ...         return ("node", "degree")
    ...     def _caption(self):
    ...         return "3 nodes"
    ...     def _columns(self):
    ...         return {"node": np.arange(3), "degree": self.values}
    >>> print(Degrees())
    3 nodes
    node  degree
    0          2
    1          1
    2          1
    >>> np.asarray(Degrees())
    array([2, 1, 1])
    >>> Degrees().to_polars().columns
    ['node', 'degree']
    """

    def _header(self) -> Sequence[str]:
        raise NotImplementedError

    def _caption(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(self.rows(), header=self._header())}"

    def _repr_html_(self):
        return html_table(self.rows(), header=self._header(), caption=self._caption())


def bound_columns(lower: np.ndarray | None, upper: np.ndarray | None) -> list[np.ndarray]:
    """Return the bounds as columns of a table; no columns without a certificate."""
    return [] if lower is None or upper is None else [lower, upper]


def bound_names(lower: np.ndarray | None) -> tuple[str, ...]:
    """Return the names of the `bound_columns`."""
    return () if lower is None else ("lower bound", "upper bound")
