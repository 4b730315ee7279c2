"""Export of results as Arrow, polars and pandas tables."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from graphsqueak.system.frames import ArrowExport, arrow_column


class Table(ArrowExport):
    def _columns(self):
        return {"node": np.array(["ann", "bob"]), "score": np.array([0.5, np.nan])}


def test_numbers_keep_their_type():
    for dtype in (np.int32, np.uint64, np.float32, np.bool_):
        assert arrow_column(np.zeros(2, dtype)).type == pa.from_numpy_dtype(dtype)


def test_ids_of_several_types_become_text():
    assert arrow_column(np.array([3, "ann", None], dtype=object)).to_pylist() == ["3", "ann", None]


def test_polars_reads_the_object_itself():
    assert pl.DataFrame(Table()).equals(Table().to_polars(), null_equal=True)
    assert Table().to_polars()["node"].to_list() == ["ann", "bob"]


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = Table().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["score"].isna().tolist() == [False, True]
