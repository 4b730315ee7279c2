"""Export of results as tables of other libraries, through Arrow."""

from typing import TYPE_CHECKING, Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.validation import OtherNames

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


# Attributes of a pandas data frame that users expect of results.
FRAME_NAMES = {
    name: f"to_pandas().{name}"
    for name in (
        "columns",
        "describe",
        "groupby",
        "head",
        "iloc",
        "iterrows",
        "loc",
        "sample",
        "sort_values",
        "to_csv",
        "to_dict",
        "to_json",
        "to_numpy",
        "to_parquet",
        "values",
    )
}


class ArrowExport(OtherNames):
    """Mixin for objects with rows; a subclass returns its arrays, by name, from `_columns`.

    Libraries that read Arrow's C stream accept the object itself: `polars.DataFrame(H)`,
    `pyarrow.table(H)`, `duckdb.sql("select * from H")`.

    Examples
    --------
    >>> class Table(ArrowExport):
    ...     def _columns(self):
    ...         return {"node": np.array(["ann", "bob"]), "label": np.array([1, 0])}
    >>> Table().to_arrow().to_pydict()
    {'node': ['ann', 'bob'], 'label': [1, 0]}
    """

    _other_names = FRAME_NAMES

    def _columns(self):
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        """Return the rows as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.table({name: arrow_column(values) for name, values in self._columns().items()})

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a `polars.DataFrame`."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the rows as a `pandas.DataFrame`."""
        # pandas is not a dependency; pyarrow imports it on demand.
        try:
            return self.to_arrow().to_pandas()
        except ModuleNotFoundError:
            raise InputError(
                "pandas is not installed: pip install pandas, or call to_polars"
            ) from None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the rows through the Arrow PyCapsule protocol."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def arrow_column(values):
    """Return an Arrow array: numbers unchanged, ids of any other type as text.

    >>> arrow_column(np.array(["ann", 7], dtype=object)).to_pylist()
    ['ann', '7']
    """
    import pyarrow as pa

    values = np.asarray(values)
    if values.dtype.kind in "iufb":
        return pa.array(values)
    # Ids of several types become text, so that a column has one type; texts may exceed 2 GiB.
    names = [None if value is None else str(value) for value in values.tolist()]
    return pa.array(names, type=pa.large_string())
