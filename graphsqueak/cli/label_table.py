"""Tables of labels: node, label and perhaps weight and truth."""

import io
import math
from pathlib import Path

from graphsqueak.errors import InputError
from graphsqueak.system.remote import ADDRESS, read_bytes

__all__ = ["read_labels", "read_weighted_labels"]


def read_labels(path: str | Path) -> tuple[dict, dict]:
    """Labels and truths by node id, of a csv, tsv or Parquet file.

    An empty label, or -1, is none: the row may still hold a truth. Without a header of these names
    the two columns are node and label. A node may be named twice, but not with two labels.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    given, truth : dict
        Ids that all look like numbers are numbers; estimators match them with text, too.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("node,label,truth\\nann,spam,spam\\nbob,,ham\\n")
    >>> read_labels(path)
    ({'ann': 'spam'}, {'ann': 'spam', 'bob': 'ham'})
    """
    return read_weighted_labels(path)[:2]


def read_weighted_labels(path: str | Path) -> tuple[dict, dict, dict]:
    """As `read_labels`, and the weights by node id: the trust in each label, empty is 1.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    given, truth, weight : dict
        The last is empty where the table has no column of that name.
    """
    table = _name_columns(_read_table(path), path)
    given: dict = {}
    truth: dict = {}
    weight: dict = {}
    for number, row in enumerate(table.iter_rows(named=True)):
        node, value = row["node"], row["label"]
        if node is None:
            raise InputError(f"{path}: a row has no node; fill it in or remove it")
        if value not in (None, "", -1, "-1") and given.setdefault(node, value) != value:
            raise InputError(
                f"{path}: node {node!r} has two labels, {given[node]!r} and {value!r}; keep one"
            )
        if row.get("truth") not in (None, ""):
            truth[node] = row["truth"]
        if row.get("weight") not in (None, "") and node in given:
            weight[node] = _as_weight(row["weight"], path, number)
    if not given:
        raise InputError(f"{path} labels no node at all; label at least one")
    return given, truth, weight


def _as_weight(value, path, number):
    try:
        weight = float(value)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        is_table = str(path).lower().endswith((".parquet", ".pq"))
        place = f"row {number + 1}" if is_table else f"line {number + 2}"
        raise InputError(
            f"{path}, {place}: the weight {value!r} of a label is no finite number that is at "
            "least 0; mend it, or leave it empty"
        )
    return weight


def _read_table(path):
    import polars as pl
    import pyarrow as pa

    from graphsqueak.sources.files.columnar import parquet_frame

    name = str(path).lower()
    try:
        place = io.BytesIO(read_bytes(path)) if ADDRESS.match(str(path)) else path
        if name.endswith((".parquet", ".pq")):
            return parquet_frame(place)
        separator = "\t" if ".tsv" in name or ".txt" in name else ","
        return pl.read_csv(place, separator=separator, infer_schema_length=None)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path of the labels") from None
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as a table of labels: {reason}") from None


def _name_columns(table, path):
    """The table with columns node and label; a first line that is no header becomes a row."""
    import polars as pl

    if {"node", "label"} <= set(table.columns):
        return table
    if table.width != 2:
        raise InputError(f"{path} has columns {table.columns}; name two of them node and label")
    first = dict(zip(("node", "label"), table.columns, strict=True))
    rest = table.rename(dict(zip(table.columns, ("node", "label"), strict=True)))
    row = pl.DataFrame({key: [value] for key, value in first.items()})
    try:
        row = row.cast(dict(rest.schema))
    except pl.exceptions.PolarsError:
        return rest  # the names of the columns in the user's own words
    return pl.concat([row, rest])
