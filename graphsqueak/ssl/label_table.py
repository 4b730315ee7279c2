"""Tables of labels: columns node and label, and optionally weight and truth."""

import io
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphsqueak.errors import InputError, Parameter
from graphsqueak.system.paths import is_remote, local_path
from graphsqueak.system.remote import read_bytes

if TYPE_CHECKING:
    import polars

__all__ = ["LabelTable", "read_label_frame", "read_label_table", "read_labels"]


def read_labels(path: str | Path) -> tuple[dict, dict]:
    """Read labels and truths by node id from a csv, tsv or Parquet file.

    An empty label, or -1, means unknown; the row may still have a truth. In a table without a
    header of these names, the two columns are node and label. A node may have several rows, but not
    with different labels.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    given, truth : dict
        Ids that all look like integers are integers. Estimators match them with text as well.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = path.write_text("node,label,truth\\nann,spam,spam\\nbob,,ham\\n")
    >>> read_labels(path)
    ({'ann': 'spam'}, {'ann': 'spam', 'bob': 'ham'})
    """
    table = read_label_table(path)
    return table.given, table.truth


class LabelTable(NamedTuple):
    """A table of labels.

    Attributes
    ----------
    given, truth : dict
        Labels and truths by node id.
    weight : dict
        Weights of labels by node id; empty without such a column.
    nodes : list
        All nodes of the table in order, including those without a label.
    """

    given: dict
    truth: dict
    weight: dict
    nodes: list


def read_label_table(
    path: str | Path,
    *,
    ids: str = "auto",
    node_column: str | None = None,
    label_column: str | None = None,
) -> LabelTable:
    """Read a table of labels, with the weight of each label and all nodes.

    See `read_labels`. An empty weight is 1.

    Parameters
    ----------
    path : str or Path
    ids : {"auto", "integer", "text"}
        How node ids are read from text, as in `read_edges`.
    node_column, label_column : str, optional
        Names of these columns. Default: node and label.

    Returns
    -------
    LabelTable
    """
    table = read_label_frame(path, ids=ids, node_column=node_column, label_column=label_column)
    given: dict = {}
    truth: dict = {}
    weight: dict = {}
    nodes: dict = {}
    for number, row in enumerate(table.iter_rows(named=True)):
        node, value = row["node"], row["label"]
        if node is None:
            raise InputError(f"{path}: a row has no node; fill it in or remove it")
        nodes[node] = None
        if value not in (None, "", -1, "-1") and given.setdefault(node, value) != value:
            raise InputError(
                f"{path}: node {node!r} has two labels, {given[node]!r} and {value!r}; keep one"
            )
        if row.get("truth") not in (None, ""):
            truth[node] = row["truth"]
        if row.get("weight") not in (None, "") and node in given:
            weight[node] = _as_weight(row["weight"], path, number)
    if not given:
        raise InputError(f"{path} labels no node; label at least one")
    return LabelTable(given, truth, weight, list(nodes))


def read_label_frame(
    path: str | Path,
    *,
    ids: str = "auto",
    node_column: str | None = None,
    label_column: str | None = None,
) -> "polars.DataFrame":
    """Read a table of labels as a data frame that has the columns node and label.

    Parameters
    ----------
    path, ids, node_column, label_column
        As in `read_label_table`.

    Returns
    -------
    polars.DataFrame
        With all columns and rows of the file, also those without a label.
    """
    table = _read_table(path, ids, node_column)
    table = _rename_columns(table, path, node_column=node_column, label_column=label_column)
    return _with_integers(_name_columns(table, path), path)


def _as_weight(value, path, number):
    try:
        weight = float(value)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        is_table = str(path).lower().endswith((".parquet", ".pq"))
        place = f"row {number + 1}" if is_table else f"line {number + 2}"
        raise InputError(
            f"{path}, {place}: the weight {value!r} of a label is not a finite number of 0 or "
            "more; correct it, or leave it empty"
        )
    return weight


def _read_table(path, ids, node_column):
    import polars as pl
    import pyarrow as pa

    from graphsqueak.sources.files.columnar import parquet_frame
    from graphsqueak.sources.files.lakehouse import refuse_lakehouse
    from graphsqueak.sources.files.plain_text import text_source

    refuse_lakehouse(path)
    name = str(path).lower()
    try:
        if name.endswith((".parquet", ".pq")):
            return parquet_frame(
                io.BytesIO(read_bytes(path)) if is_remote(path) else local_path(path)
            )
        separator = "\t" if ".tsv" in name or ".txt" in name else ","
        return _read_text_table(text_source(path), separator, ids, node_column)
    except InputError:
        raise
    except FileNotFoundError:
        attribute = ""
        # A name without a suffix or a folder may be that of a node attribute.
        if re.fullmatch(r"\w+", str(path)):
            attribute = (
                "; for an attribute of the nodes of a networkx graph, pass "
                f"networkx.get_node_attributes(graph, {str(path)!r})"
            )
        raise InputError(
            f"{path} does not exist; check the path of the labels{attribute}"
        ) from None
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path} cannot be read as a table of labels: {reason}; it may be damaged"
        ) from None


def _read_text_table(source, separator, ids, node_column):
    """Read a text table, with node ids as `read_edges` reads them: 007 is not 7."""
    import polars as pl

    from graphsqueak.sources.files.fields import fits_integer

    table = pl.read_csv(source, separator=separator, infer_schema_length=None)
    node = node_column or "node"
    if node not in table.columns:
        node = table.columns[0]
    if ids == "integer" or not table.schema[node].is_numeric():
        return table
    texts = pl.read_csv(source, separator=separator, columns=[node], infer_schema=False)[node]
    # Without a header, the name of the column is an id as well.
    written = [*texts.drop_nulls(), *([node] if node[:1].isdecimal() else [])]
    kind = "uint64" if table.schema[node].is_unsigned_integer() else "int64"
    are_integers = all(fits_integer(text.encode(), kind, canonical=True) for text in written)
    is_text = ids == "text" or (table.schema[node].is_integer() and not are_integers)
    return table.with_columns(texts) if is_text else table


def _with_integers(table, path):
    """Return the table with integers instead of the floats that pandas makes of them.

    It does so in columns with missing values. Columns of lists or structs are refused.
    """
    import polars as pl

    for name in ("node", "label", "truth"):
        if name not in table.columns:
            continue
        if table.schema[name].is_nested():
            raise InputError(
                f"{path}: column {name} has type {table.schema[name]}, not text or numbers; "
                "write one value per row"
            )
        if not table.schema[name].is_float():
            continue
        values = table[name].fill_nan(None)
        given = values.drop_nulls()
        if not (given == given.floor()).all():
            continue
        # Larger integers may have been rounded.
        n_bits = 24 if table.schema[name] == pl.Float32 else 53
        if (given.abs() > 2.0**n_bits).any():
            raise InputError(
                f"{path}: column {name} has floats beyond 2^{n_bits}, which may have been rounded "
                "to other integers; write it as integers or as text"
            )
        table = table.with_columns(values.cast(pl.Int64))
    return table


def _rename_columns(table, path, *, node_column, label_column):
    """Return the table with the given columns called node and label."""
    for option, name, given in (
        ("node_column", "node", node_column),
        ("label_column", "label", label_column),
    ):
        if given is None or given == name:
            continue
        if given not in table.columns:
            raise InputError(
                f"{path} has no column {given!r} (it has {', '.join(table.columns)}); see ",
                Parameter(option),
            )
        # Another column of that name is not used.
        table = table.drop(name, strict=False).rename({given: name})
    return table


def _name_columns(table, path):
    """Return the table with columns node and label; a first line without a header becomes a row."""
    import polars as pl

    if {"node", "label"} <= set(table.columns):
        return table
    if table.width != 2:
        raise InputError(
            f"{path} has columns {', '.join(table.columns)}; name two of them node and label, or "
            "give ",
            Parameter("node_column"),
            " and ",
            Parameter("label_column"),
        )
    node, label = table.columns
    rest = table.rename({node: "node", label: "label"})
    row = pl.DataFrame({"node": [node], "label": [label]})
    try:
        row = row.cast(dict(rest.schema))
    except pl.exceptions.PolarsError:
        # The first line is a header with other names.
        return rest
    return pl.concat([row, rest])
