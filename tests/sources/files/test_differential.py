"""One list of edges, written in many ways, is one graph.

`HYPOTHESIS_PROFILE=long` (in `make fuzz`) takes 500 examples instead of 60.
"""

import bz2
import gzip
import io
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsqueak.sources import read_edges

EXAMPLES = 500 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 60

node = st.one_of(st.integers(0, 9), st.integers(-(2**63), 2**63 - 1), st.integers(2**32, 2**33))
weight = st.one_of(st.just(1.0), st.floats(1e-300, 1e300), st.just(0.0), st.integers(0, 9))
lists = st.lists(st.tuples(node, node, weight), min_size=1, max_size=25)


def graph_of(source):
    """What matters of a graph: all ids, the ids of both ends, weights, counts of dropped edges.

    Node numbers do not matter: integer ids 0, ..., n - 1 are their own numbers, texts are numbered
    as they appear.
    """
    edges = source.to_edge_list()
    ids = [int(str(name).removeprefix("n")) for name in edges.ids.tolist()]
    tail = [ids[node] for node in edges.tail.tolist()]
    head = [ids[node] for node in edges.head.tolist()]
    counts = (source.n_self_loops, source.n_zero_weights)
    return sorted(ids), tail, head, edges.weight.tolist(), *counts


def lines(rows, separator="\t", prefix=""):
    return "".join(
        separator.join((f"{prefix}{u}", f"{prefix}{v}", repr(float(w)))) + "\n" for u, v, w in rows
    ).encode()


def piped(data):
    read, write = os.pipe()

    def feed():
        with os.fdopen(write, "wb") as file:
            file.write(data)

    threading.Thread(target=feed).start()
    with os.fdopen(read, "rb", buffering=0) as file:
        return graph_of(read_edges(file, ids="integer"))


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None)
@given(rows=lists, batch_size=st.integers(1, 7), cut=st.integers(0, 25))
def test_every_way_of_writing_edges_gives_the_same_graph(tmp_path_factory, rows, batch_size, cut):
    folder = tmp_path_factory.getbasetemp() / "differential"
    folder.mkdir(exist_ok=True)
    plain, whole = lines(rows), {"ids": "integer", "header": False}

    def read(data, **options):
        return graph_of(read_edges(io.BytesIO(data), **whole | options))

    expected = read(plain)
    assert read(plain, batch_size=batch_size) == expected
    for packed in (gzip.compress(plain), bz2.compress(plain), zstandard.compress(plain)):
        assert read(packed, batch_size=batch_size) == expected
    members = gzip.compress(lines(rows[:cut])) + gzip.compress(lines(rows[cut:]))
    assert read(members) == expected
    assert read(lines(rows, ",").replace(b"\n", b"\r\n")) == expected
    assert read(lines(rows, "   "), delimiter="whitespace") == expected
    assert read(lines(rows, prefix="n"), ids="text") == expected
    named = b"weight;target;source\n" + b"".join(
        b"%r;%d;%d\n" % (float(w), v, u) for u, v, w in rows
    )
    assert read(named, header=True) == expected
    assert piped(plain) == expected
    parts = []
    for number, part in enumerate((rows[:cut], rows[cut:])):
        parts += [folder / f"{number}.tsv"] if part else []
        (folder / f"{number}.tsv").write_bytes(lines(part))
    assert graph_of(read_edges(parts, **whole)) == expected
    u, v, w = zip(*rows, strict=True)
    table = pa.table({"weight": np.array(w, float), "target": v, "source": u})
    pq.write_table(table, folder / "g.parquet", row_group_size=3)
    with pa.ipc.new_file(str(folder / "g.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    for name in ("g.parquet", "g.arrow"):
        assert graph_of(read_edges(folder / name, batch_size=batch_size)) == expected
