"""Tables in files: batches of one size, and a column of predictions."""

import contextlib

import numpy as np
import polars as pl
import pytest

from graphsqueak import InputError
from graphsqueak.sources.table_files import table_batches, table_writer


@pytest.fixture
def frame():
    return pl.DataFrame({"x": np.arange(25.0), "name": [f"row {k}" for k in range(25)]})


def write(frame, path):
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=7)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_batches_have_one_size_and_all_rows(tmp_path, frame, suffix):
    path = tmp_path / f"table{suffix}"
    write(frame, path)
    batches = list(table_batches(path, 10))
    assert [len(batch) for batch, _ in batches] == [10, 10, 5]
    assert pl.concat([batch for batch, _ in batches]).equals(frame)
    fractions = [fraction for _, fraction in batches]
    # The number of rows of a text is unknown before its end.
    expected = [0.4, 0.8, 1] if suffix == ".parquet" else [np.nan, np.nan, 1]
    np.testing.assert_equal(fractions, expected)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("values", [[0.5, 1.5, -2.0], [1, 2, 3], ["ham", "spam", "ham"]])
def test_predictions_are_appended(tmp_path, suffix, values):
    path = tmp_path / f"predictions{suffix}"
    with table_writer(path) as append:
        append(np.array(values[:2]))
        append(np.array(values[2:]))
        assert not path.exists()
    read = pl.read_parquet if suffix == ".parquet" else pl.read_csv
    assert read(path).to_dict(as_series=False) == {"prediction": values}


def test_a_failed_writer_leaves_no_file(tmp_path):
    path = tmp_path / "predictions.csv"
    with contextlib.suppress(ZeroDivisionError), table_writer(path) as append:
        append(np.array([1.0]))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "is not a file"),
        ("table.txt", b"x\n1\n", "does not end in .csv, .tsv or .parquet"),
        ("table.parquet", b"PAR1 and nothing else PAR1", "cannot be read: .*; it may be damaged"),
        ("table.csv", b"x,y\n1,2\n3\n", "cannot be read: .*; it may be damaged"),
    ],
)
def test_files_that_are_not_tables_are_refused(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(table_batches(tmp_path / name, 10))


def test_predictions_are_not_written_as_other_formats(tmp_path):
    path = tmp_path / "predictions.mtx"
    refusal = pytest.raises(InputError, match=r"written as \.csv, \.tsv or \.parquet")
    with refusal, table_writer(path):
        pass
