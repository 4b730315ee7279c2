"""Reading a longer file takes no more memory."""

import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PEAK = (
    "import sys; from graphsqueak.sources import info, read_edges;"
    "print(info(read_edges(sys.argv[1])).peak_rss_bytes)"
)


def peak_memory(path):
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("edges.tsv", (2_000_000, 6_000_000)), ("edges.parquet", (3_000_000, 12_000_000))],
)
def test_peak_memory_does_not_follow_the_length_of_the_file(tmp_path, name, sizes):
    rng = np.random.default_rng(605_119)
    ids = rng.integers(10**15, 10**16, size=1000)
    peaks = []
    for n_edges in sizes:
        columns = {end: ids[rng.integers(1000, size=n_edges)] for end in ("source", "target")}
        path = tmp_path / f"{n_edges}-{name}"
        if name.endswith("tsv"):
            pl.DataFrame(columns).write_csv(path, separator="\t")
        else:
            options = {"use_dictionary": False, "compression": "none", "row_group_size": 500_000}
            pq.write_table(pa.table(columns), path, **options)
        peaks.append(peak_memory(path))
    assert max(peaks) < 2**30
    assert peaks[1] - peaks[0] < path.stat().st_size / 2  # three quarters if the file were held
