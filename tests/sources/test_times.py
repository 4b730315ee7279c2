"""Times of edges: every way to write them, their order up to an allowed lateness."""

import datetime as dt
import io

import numpy as np
import polars as pl
import pytest

from graphsqueak import InputError, TimedEdges, read_edges

DAY = 86_400.0


def times(text, **options):
    batches = list(read_edges(io.BytesIO(text), **options))
    assert all(isinstance(batch, TimedEdges) for batch in batches)
    return np.concatenate([batch.time for batch in batches])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["3", "4", "5"], [3, 4, 5]),
        (["-1.5e1", "0.25", "1700000000123"], [-15, 0.25, 1_700_000_000_123]),
        (["1970-01-02", "1970-01-03", "2026-11-17"], [DAY, 2 * DAY, 1_794_873_600]),
        (["1970-01-01T00:00:01", "1970-01-01T00:00:02.5", "1970-01-02"], [1, 2.5, DAY]),
        (["1970-01-01T00:00:01Z", "1970-01-01T01:00:02+01:00", "1970-01-02T00:00Z"], [1, 2, DAY]),
        (["5", "1970-01-02", '"1970-01-03"'], [5, DAY, 2 * DAY]),  # mixed, one by one
    ],
)
@pytest.mark.parametrize("form", ["names", "numbers", "parquet"])
def test_every_way_to_write_times(written, read, form, tmp_path):
    weight = [2.0, 3.0, 4.0]
    if form == "parquet":
        columns = {"src": [1, 2, 3], "dst": [2, 3, 4], "weight": weight}
        path = tmp_path / "edges.parquet"
        plain = [text.strip('"') for text in written]
        pl.DataFrame(columns | {"ts": plain}).write_parquet(path)
        source = read_edges(path, time="ts", batch_size=2)
    else:
        names = "src,dst,weight,ts\n" if form == "names" else ""
        rows = [f"{k},{k + 1},{weight[k - 1]},{written[k - 1]}\n" for k in (1, 2, 3)]
        chosen = {"time": "ts"} if form == "names" else {"time": 3}
        source = read_edges(io.BytesIO((names + "".join(rows)).encode()), **chosen, batch_size=2)
    batches = list(source)
    assert [batch.n_edges for batch in batches] == [2, 1]
    np.testing.assert_allclose(np.concatenate([batch.time for batch in batches]), read, rtol=1e-15)
    np.testing.assert_array_equal(np.concatenate([batch.weight for batch in batches]), weight)
    assert source.inferred_schema["times"] == ("column 3" if form == "numbers" else "ts")


def test_columns_of_parquet_that_hold_dates(tmp_path):
    path = tmp_path / "edges.parquet"
    stamps = [dt.datetime(1970, 1, 2), dt.datetime(1970, 1, 2, 0, 0, 1, 250_000)]
    for column, expected in (
        (pl.Series(stamps), [DAY, DAY + 1.25]),
        (pl.Series(stamps).dt.cast_time_unit("ns"), [DAY, DAY + 1.25]),
        (pl.Series(stamps).dt.replace_time_zone("UTC"), [DAY, DAY + 1.25]),
        (pl.Series(stamps).dt.date(), [DAY, DAY]),
        (pl.Series(["1970-01-02", "1970-01-03"], dtype=pl.Categorical), [DAY, 2 * DAY]),
        (pl.Series([7, 8], dtype=pl.Int32), [7, 8]),
    ):
        pl.DataFrame({"u": [1, 2], "v": [2, 3], "when": column}).write_parquet(path)
        (batch,) = read_edges(path, time="when")
        np.testing.assert_array_equal(batch.time, expected)
    pl.DataFrame({"u": [1], "v": [2], "when": [True]}).write_parquet(path)
    with pytest.raises(InputError, match=r"when.*where numbers, dates or timestamps"):
        list(read_edges(path, time="when"))


def test_loops_are_dropped_with_their_times():
    assert times(b"1 1 5\n1 2 6\n2 2 7\n2 3 8\n", time=2).tolist() == [6, 8]


def test_bad_times_have_a_line_or_are_skipped(tmp_path):
    text = b"# events\na b 1\nb c soon\nc d 3\n\nd e nan\n"
    with pytest.raises(InputError, match=r"line 3: 'soon' is not a time"):
        times(text, time=2)
    source = read_edges(io.BytesIO(text), time=2, on_bad_line="skip")
    (batch,) = source
    assert (batch.time.tolist(), source.n_bad_lines) == ([1, 3], 2)
    path = tmp_path / "edges.parquet"
    pl.DataFrame({"u": [1, 2], "v": [2, 3], "when": [1.0, None]}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 2 .*the time is empty"):
        list(read_edges(path, time="when"))


def test_late_edges_are_refused_beyond_the_allowed_lateness(tmp_path):
    text = b"u,v,ts\n1,2,10\n2,3,8\n\n3,4,12\n4,5,9.5\n"
    assert times(text, time="ts", allowed_lateness=2.5).tolist() == [10, 8, 12, 9.5]
    assert times(text, time="ts", allowed_lateness=np.inf).size == 4
    with pytest.raises(
        InputError, match=r"line 3: time 8 comes after 10, later than allowed_lateness=0"
    ):
        times(text, time="ts")
    with pytest.raises(
        InputError, match=r"line 6: time 9.5 comes after 12.*allowed_lateness=2.0 allows"
    ):
        times(text, time="ts", allowed_lateness=2)
    for number in range(2):  # order goes on from file to file
        (tmp_path / f"{number}.csv").write_text(f"u,v,ts\n1,2,{5 - number}\n")
    with pytest.raises(InputError, match=r"1\.csv, line 2: time 4 comes after 5"):
        list(read_edges(tmp_path, time="ts"))
    path = tmp_path / "edges.parquet"
    pl.DataFrame({"u": [1, 2, 9], "v": [2, 3, 4], "w": [3.0, None, 1.0]}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 3: time 1 comes after 3"):
        list(read_edges(path, time="w", on_bad_line="skip"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time": "when"}, "no column named 'when'"),
        ({"time": 7}, "there is no column 7"),
        ({"time": 1, "columns": (0, 1)}, "one of columns"),
        ({"time": 2, "allowed_lateness": -1.0}, "allowed_lateness"),
        ({"time": 2, "duplicates": "first"}, "duplicates summed"),
        ({"time": 1}, "one column where an edge needs two"),
    ],
)
def test_columns_that_cannot_be_times_are_refused(options, said):
    text = b"1 2\n2 3\n" if options == {"time": 1} else b"1 2 3\n2 3 4\n"
    with pytest.raises(InputError, match=said):
        list(read_edges(io.BytesIO(text), **options))
    matrix = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1.0\n"
    with pytest.raises(InputError, match="without times"):
        list(read_edges(io.BytesIO(matrix), time=2))


def lines(third):
    rng = np.random.default_rng(3)
    ends = rng.integers(1000, size=(len(third), 2))
    return "".join(f"{u} {v} {t}\n" for (u, v), t in zip(ends, third, strict=True)).encode()


def test_a_third_column_of_times_is_asked_about_and_weights_are_not():
    rng = np.random.default_rng(9)
    for scale in (1, 1000, 1_000_000):
        for year in (1985, 2009, 2026, 2099):
            start = dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()
            column = np.sort(start + rng.integers(10**7, size=50)).astype(int) * scale
            with pytest.raises(InputError, match=r"time=2 to read.*weighted=True"):
                list(read_edges(io.BytesIO(lines(column.tolist()))))
            (batch,) = read_edges(io.BytesIO(lines(column.tolist())), time=2)
            np.testing.assert_array_equal(batch.time, column)
            (batch,) = read_edges(io.BytesIO(lines(column.tolist())), columns=(0, 1, 2))
            np.testing.assert_array_equal(batch.weight, column)
    with pytest.raises(InputError, match=r"holds dates.*time=2"):
        list(read_edges(io.BytesIO(lines(["2026-11-17"] * 9))))
    for column in (
        np.sort(rng.integers(1, 100, size=50)),  # small and sorted
        rng.lognormal(sigma=3.0, size=50),
        (10 ** rng.uniform(4, 11, size=50)).astype(int),  # large, of no one scale
        np.full(50, 1_700_000_000),  # all alike
    ):
        assert read_edges(io.BytesIO(lines(column.tolist()))).to_edge_list().n_edges == 50
