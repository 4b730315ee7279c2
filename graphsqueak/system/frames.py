"""Results as tables of other libraries, by way of Arrow."""

from typing import TYPE_CHECKING, Any

import numpy as np

from graphsqueak.errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["ArrowExport", "arrow_column"]


class ArrowExport:
    """What has rows and columns; a subclass writes `_columns`, a dict of arrays by name.

    Whatever reads Arrow's C stream takes it as it is: `polars.DataFrame(H)`, `pyarrow.table(H)`,
    `duckdb.sql("select * from H")`.

    Examples
    --------
    >>> class Table(ArrowExport):
    ...     def _columns(self):
    ...         return {"node": np.array(["ann", "bob"]), "label": np.array([1, 0])}
    >>> Table().to_arrow().to_pydict()
    {'node': ['ann', 'bob'], 'label': [1, 0]}
    """

    def _columns(self):
        raise NotImplementedError

    def to_arrow(self) -> "pyarrow.Table":
        """The rows as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.table({name: arrow_column(values) for name, values in self._columns().items()})

    def to_polars(self) -> "polars.DataFrame":
        """The rows as a `polars.DataFrame`."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a `pandas.DataFrame`."""
        try:
            return self.to_arrow().to_pandas()
        except ModuleNotFoundError:
            raise InputError(
                "pandas is not installed: pip install pandas, or call to_polars"
            ) from None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's own protocol, by which libraries hand over tables."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def arrow_column(values):
    """An Arrow array: numbers as they are, ids of any other kind as text.

    >>> arrow_column(np.array(["ann", 7], dtype=object)).to_pylist()
    ['ann', '7']
    """
    import pyarrow as pa

    values = np.asarray(values)
    if values.dtype.kind in "iufb":
        return pa.array(values)
    names = [None if value is None else str(value) for value in values.tolist()]
    return pa.array(names, type=pa.large_string())
