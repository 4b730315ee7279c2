"""Well-formed files of every kind that is read, small ones, and what it means to read each."""

import bz2
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
import zstandard

from graphsqueak import StreamSparsifier, TimedEdges, read_edges
from graphsqueak.sources.neighbors.edges import neighbor_edges
from graphsqueak.sources.neighbors.point_files import read_points
from graphsqueak.sparsifiers import TimedSparsifier, load_stream
from graphsqueak.sparsifiers.stream.resparsify import resparsify
from graphsqueak.ssl.label_table import read_labels
from tests.sparsifiers.stream import engine_state, stream_config

__all__ = ["FILES", "READERS", "kind_of", "read"]

_EDGES = b"# a comment\n" + b"".join(
    b"%d\t%d\t%g\n" % (u, (u * u + 1) % 17, 1 + u / 4) for u in range(40)
)
_NAMES = 'source,target,weight\nann,"b, ob",1\n"b, ob",c\u00fd,2.5\nc\u00fd,ann,1e-3\n'.encode()
_MATRIX = b"%%MatrixMarket matrix coordinate real symmetric\n% c\n5 5 3\n2 1 1\n3 2 0.5\n5 1 2\n"
_GENERAL = b"%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 1\n3 2\n2 3\n"
_METIS = b"% c\n4 3 001\n2 1 3 1\n1 1\n1 1 4 2\n3 2\n"
_LIKES = b"user,item\n" + b"".join(b"u%d,i%d\n" % (u, u % 7) for u in range(20))
_TIMES = b"".join(b"%d %d %d\n" % (u, u * u % 7, 1_600_000_000 + 60 * u) for u in range(20))
_INDEX = b",source,target\n" + b"".join(b"%d,%d.0,%d.0\n" % (u, u % 9, u % 7) for u in range(20))
_LABELS = b"node,label,truth\n1,spam,spam\n2,ham,\n3,,ham\n"
_POINTS = b"id,x,y,label\na,0,1,ham\nb,2,3,spam\nc,1,1,ham\nd,4,0.5,spam\n"


def _columns():
    u = np.arange(30)
    return pa.table({"source": u, "target": (7 * u + 1) % 11, "weight": 1.0 + u})


def _parquet(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _arrow(table, make):
    file = io.BytesIO()
    with make(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def _npy():
    file = io.BytesIO()
    np.save(file, np.arange(12.0).reshape(4, 3))
    return file.getvalue()


def _npz(save, *arrays, **named):
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def _checkpoint(ids):
    rng = np.random.default_rng(660_161)
    stream = StreamSparsifier(n_edges=60, random_state=7)
    lines = "".join(f"{ids}{u} {ids}{v}\n" for u, v in rng.integers(12, size=(80, 2)))
    for batch in read_edges(io.BytesIO(lines.encode())):
        stream.partial_fit(batch)
    resparsify(engine_state(stream), stream_config(stream), 40)
    return stream.to_bytes()


def _window_checkpoint(folder):
    rng = np.random.default_rng(660_162)
    tail, head = rng.integers(12, size=(2, 80))
    stream = TimedSparsifier(n_edges=20, window=4.0, n_panes=2, random_state=7)
    stream.partial_fit(TimedEdges(tail=tail, head=head, time=np.linspace(0.0, 9.0, 80)))
    path = Path(folder) / "window.ckpt"
    stream.save(path)
    return path.read_bytes()


_TABLE = _columns()
_TEXT = pa.table({"source": ["a", "b", "c"], "target": ["b", "c", "\u00e9"]})
_SPARSE = scipy.sparse.csr_matrix(np.eye(4, 6) + np.eye(4, 6, 1))
FILES = {
    "edges.tsv": _EDGES,
    "names.csv": _NAMES,
    "likes.csv": _LIKES,
    "times.txt": _TIMES,
    "index.csv": _INDEX,
    "plain.txt": b"1 2\n2 3\n3 1\n" * 5,
    "edges.tsv.gz": gzip.compress(_EDGES, mtime=0),
    "edges.tsv.bz2": bz2.compress(_EDGES),
    "edges.tsv.zst": zstandard.compress(_EDGES),
    "edges.mtx": _MATRIX,
    "general.mtx": _GENERAL,
    "edges.graph": _METIS,
    "edges.parquet": _parquet(_TABLE),
    "text.parquet": _parquet(_TEXT),
    "floats.parquet": _parquet(pa.table({"source": [1.0, 2.0, 9.0], "target": [2.0, 3.0, 1.0]})),
    "edges.arrow": _arrow(_TABLE, pa.ipc.new_file),
    "stream.arrow": _arrow(_TABLE, pa.ipc.new_stream),
    "labels.csv": _LABELS,
    "labels.tsv": _LABELS.replace(b",", b"\t"),
    "labels.parquet": _parquet(pa.table({"node": [1, 2], "label": ["a", "b"]})),
    "points.csv": _POINTS,
    "points.npy": _npy(),
    "points.npz": _npz(np.savez, points=np.arange(12.0).reshape(4, 3), ids=np.arange(4)),
    "sparse.npz": _npz(scipy.sparse.save_npz, _SPARSE),
    "points.parquet": _parquet(pa.table({"x": [0.0, 1.0, 2.5], "y": [1.0, 1.0, 0.0]})),
    "numbers.ckpt": _checkpoint(""),
    "texts.ckpt": _checkpoint("n"),
}
with tempfile.TemporaryDirectory() as _folder:
    FILES["window.ckpt"] = _window_checkpoint(_folder)


def kind_of(name):
    """Which of the `READERS` a file is for."""
    if name.endswith(".ckpt"):
        return "checkpoint"
    kinds = {"labels": "labels", "points": "points", "sparse": "points"}
    return kinds.get(name.partition(".")[0], "edges")


_OPTIONS = {
    "likes.csv": {"bipartite": True},
    "times.txt": {"weighted": True, "duplicates": "first"},
    "index.csv": {"ids": "integer"},
}


def _read_edges(path):
    options = _OPTIONS.get(path.name, {})
    graph = read_edges(path, **options).to_edge_list()
    assert graph.n_edges == 0 or max(graph.tail.max(), graph.head.max()) < graph.n_nodes
    assert ((graph.weight > 0) & (graph.weight < np.inf)).all()
    assert len(graph.ids) == graph.n_nodes


def _read_points(path):
    points, ids = read_points(path)
    list(neighbor_edges(points, 1, ids=ids, metric="euclidean"))


def _read_checkpoint(path):
    stream = load_stream(path)
    more = stream.merge(stream, random_state=7).sparsifier()
    assert (more.weight > 0).all()


READERS = {
    "edges": _read_edges,
    "labels": read_labels,
    "points": _read_points,
    "checkpoint": _read_checkpoint,
}


def read(path):
    """Read a file as its name says, all of it, and use what was read."""
    return READERS[kind_of(path.name)](path)
