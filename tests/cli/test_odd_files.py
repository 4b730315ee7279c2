"""Files as they come: nothing is misread in silence, no byte is lost, every message is one line.

Each case is what a new user did with a file nobody had prepared. `says` is what standard error must
hold; where the run succeeds, `nodes` and `edges` are what the file means.
"""

import io
import json
import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphsqueak.cli import run


class Case(NamedTuple):
    """A file, the options of `graphsqueak info`, and what comes of it."""

    did: str
    name: str
    holds: bytes
    options: tuple = ()
    code: int = 0
    says: str = ""
    nodes: int | None = None
    edges: int | None = None


def lines(rows, separator="\t"):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def parquet(table):
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


RNG = np.random.default_rng(550_321)
ENDS = RNG.integers(40, size=(300, 2))
ENDS = ENDS[ENDS[:, 0] != ENDS[:, 1]]
N = len(ENDS)
NODES = len(np.unique(ENDS))
PAIRS = [(f"u{u}", f"i{v}") for u, v in ENDS]
WORDS = [(f"{'bcdfghjklm'[u // 4]}a{'nprt'[u % 4]}", f"{'bcdfghjklm'[v // 4]}a{'nprt'[v % 4]}")
         for u, v in ENDS]  # fmt: skip
BOTH = len(np.unique(ENDS[:, 0])) + len(np.unique(ENDS[:, 1]))
SECONDS = 1_082_040_961 + np.sort(RNG.integers(1 << 24, size=N))
INDEXED = [(i, u, v) for i, (u, v) in enumerate(ENDS)]  # as pandas writes a frame


def weighted(values, separator="\t"):
    return lines([(u, v, w) for (u, v), w in zip(ENDS, values, strict=True)], separator)


def named(first, rows, separator=","):
    return lines([first, *rows], separator)


ASKS_WEIGHT = r"looks like times.*--no-weights.*--weights"
ASKS_HEADER = r"--header.*--no-header"
ASKS_KINDS = r"--bipartite.*--unipartite"
CSV_FLOATS = lines(ENDS.astype(float), ",")
PARQUET_FLOATS = parquet(
    pa.table({"source": ENDS[:, 0].astype(float), "target": ENDS[:, 1].astype(float)})
)

CASES = [
    Case("unix times", "t.tsv", weighted(SECONDS), code=2, says=ASKS_WEIGHT),
    Case("unix times, newest first", "t.tsv", weighted(SECONDS[::-1]), code=2, says=ASKS_WEIGHT),
    Case(
        "unix times as weights after all", "t.tsv", weighted(SECONDS), ("--weights",), edges=N,
        says="weights column 2",
    ),
    Case(
        "unix times ignored", "t.tsv", weighted(SECONDS), ("--no-weights",), edges=N,
        says="weights none",
    ),
    Case(
        "unix times chosen as weights", "t.tsv", weighted(SECONDS), ("--columns", "0,1,2"), edges=N
    ),
    Case("milliseconds", "t.csv", weighted(1000 * SECONDS + 7, ","), code=2, says=ASKS_WEIGHT),
    Case(
        "microseconds, shuffled", "t.csv", weighted(RNG.permutation(SECONDS) * 10**6, ","),
        code=2, says=ASKS_WEIGHT,
    ),
    Case(
        "days as 20040417", "t.csv", weighted(20_040_401 + RNG.integers(28, size=N), ","),
        code=2, says=ASKS_WEIGHT,
    ),
    Case(
        "ISO days", "t.csv", weighted([f"2004-04-{1 + i % 28:02d}" for i in range(N)], ","),
        code=2, says=r"dates.*--no-weights",
    ),
    Case(
        "ISO times", "t.tsv", weighted(["2004-04-15T10:56:01Z"] * N), code=2,
        says=r"dates.*--no-weights",
    ),
    Case("counts", "w.tsv", weighted(RNG.integers(1, 30, size=N)), edges=N, nodes=NODES),
    Case("similarities", "w.tsv", weighted(RNG.random(N)), edges=N),
    Case("bytes sent", "w.tsv", weighted((10 ** RNG.uniform(2, 10, N)).astype(int)), edges=N),
    Case("sums of money", "w.tsv", weighted((10 ** RNG.uniform(8, 9.3, N)).astype(int)), edges=N),
    Case("equal large weights", "w.tsv", weighted([10**9] * N), edges=N),
    Case(
        "user,item above u175,i94", "h.csv", named(("user", "item"), PAIRS), edges=N, nodes=BOTH,
        says="columns user, item",
    ),
    Case(
        "a,b above 1.0,2.0", "h.csv", named(("a", "b"), ENDS.astype(float)), edges=N, nodes=NODES,
        says="columns a, b",
    ),
    Case(
        "0,1 above words", "h.csv", named(("0", "1"), WORDS), edges=N, nodes=NODES,
        says="columns 0, 1",
    ),
    Case(
        "unknown names above words", "h.csv", named(("zig", "zag"), WORDS), code=2,
        says=f"'zig,zag'.*{ASKS_HEADER}",
    ),
    Case(
        "an edge of its own at the top", "h.csv", named(("zig", "zag"), WORDS), ("--no-header",),
        edges=N + 1, nodes=NODES + 2,
    ),
    Case("words without a header", "h.tsv", lines(WORDS), edges=N, nodes=NODES),
    Case(
        "a matching: every name once", "h.tsv", lines([(f"a{i}", f"b{i}") for i in range(50)]),
        edges=50, nodes=100,
    ),
    Case("users and items, numbered", "b.csv", named(("user", "item"), ENDS), code=2,
         says=ASKS_KINDS),
    Case(
        "users and items kept apart", "b.csv", named(("user", "item"), ENDS), ("--bipartite",),
        edges=N, nodes=BOTH, says="user and item kept apart",
    ),
    Case(
        "users and items as one kind", "b.csv", named(("user", "item"), ENDS), ("--unipartite",),
        edges=N, nodes=NODES,
    ),
    Case(
        "ratings", "b.csv",
        named(("user_id", "movieId", "rating", "timestamp"),
              [(u, v, 3.5, t) for (u, v), t in zip(ENDS, SECONDS, strict=True)]),
        ("--columns", "user_id,movieId"), code=2, says=ASKS_KINDS,
    ),
    Case(
        "users and items in Parquet", "b.parquet",
        parquet(pa.table({"customer": ENDS[:, 0], "product": ENDS[:, 1]})), code=2, says=ASKS_KINDS,
    ),
    Case(
        "followers", "b.csv", named(("follower", "followee"), ENDS), edges=N, nodes=NODES,
        says="columns follower, followee",
    ),
    Case("bipartite, sides without names", "b.tsv", lines(ENDS), ("--bipartite",), edges=N,
         nodes=BOTH),
    Case("1.0 in csv", "f.csv", CSV_FLOATS, edges=N, nodes=NODES,
         says="ids integer"),
    Case("1.0 in Parquet", "f.parquet", PARQUET_FLOATS, edges=N, nodes=NODES,
         says="ids integer"),
    Case("1.0 as integers in csv", "f.csv", CSV_FLOATS, ("--ids", "integer"), edges=N, nodes=NODES,
         says="ids integer"),
    Case("1.0 as integers in Parquet", "f.parquet", PARQUET_FLOATS, ("--ids", "integer"), edges=N,
         nodes=NODES, says="ids integer"),
    Case("1.5 in Parquet", "f.parquet", parquet(pa.table({"source": [1.5], "target": [2.0]})),
         code=2, says=r"1\.5"),
    Case("pandas csv with its index", "p.csv", named(("", "source", "target"), INDEXED), edges=N,
         nodes=NODES, says="columns source, target; .*index"),
    Case("pandas csv with index and weight", "p.csv",
         named(("", "source", "target", "weight"), [(*row, 0.5) for row in INDEXED]), edges=N,
         nodes=NODES, says="weights weight"),
    Case("pandas csv with index, no header", "p.csv", lines(INDEXED, ","), code=2,
         says=r"counts.*--columns 1,2.*--columns 0,1,2"),
    Case("pandas Parquet with its index", "p.parquet",
         parquet(pa.table({"source": ENDS[:, 0], "target": ENDS[:, 1],
                           "__index_level_0__": np.arange(N)})), edges=N, nodes=NODES,
         says="columns source, target"),
    Case("graphml", "g.graphml", b'<?xml version="1.0"?>\n<graphml><graph></graph></graphml>\n',
         code=2, says=r"GraphML.*read_graphml"),
    Case("gexf", "g.gexf", b'<?xml version="1.0"?>\n<gexf></gexf>\n', code=2,
         says=r"GEXF.*read_gexf"),
    Case("json", "g.json", b'{"nodes": [1, 2],\n "links": [[1, 2]]}\n', code=2, says="JSON"),
    Case("gml", "g.gml", b"graph [\n  node [\n    id 0\n  ]\n]\n", code=2, says="GML.*read_gml"),
    Case("a page", "g.txt", b"<!DOCTYPE html>\n<html><body>404 not found</body></html>\n", code=2,
         says="HTML"),
    Case("an archive", "g.zip", b"PK\x03\x04" + bytes(40), code=2, says="zip"),
    Case("UTF-16", "u.csv", "a,b\nb,c\n".encode("utf-16"), code=2, says="iconv"),
    Case("a byte order mark", "u.csv", b"\xef\xbb\xbf" + named(("source", "target"), ENDS), edges=N,
         nodes=NODES),
    Case("nothing at all", "e.csv", b"", code=2, says="no edges"),
    Case("a header alone", "e.csv", b"source,target\n", code=2, says="no edges"),
    Case("decimal commas", "d.csv", weighted([f"0,{i + 1}" for i in range(N)], ";"), code=2,
         says="with a point"),
    Case("loops and repeats", "r.tsv", lines([*[(1, 1)] * 3, *[(1, 2), (2, 1)] * 2, (2, 3)]),
         edges=5, nodes=3, says=r"3 self-loops dropped; 60 % of the edges repeat, summed"),
    Case("repeats counted once", "r.tsv", lines([*[(1, 2), (2, 1)] * 2, (2, 3)]),
         ("--duplicates", "first"), edges=2, nodes=3, says=r"60 % .* repeat, counted once"),
    Case("repeats refused", "r.tsv", lines([(1, 2), (2, 3), (2, 1)]), ("--duplicates", "error"),
         code=2, says=r"from 2 to 1 is listed .* --duplicates first"),
    Case("no repeats to refuse", "r.tsv", lines([(1, 2), (2, 3), (1, 3)]),
         ("--duplicates", "error"), edges=3, nodes=3, says="no edge repeats"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.did.replace(" ", "_") for case in CASES])
def test_an_odd_file(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / case.name).write_bytes(case.holds)
    code = run(["info", case.name, "--json", *case.options])
    printed = capsys.readouterr()
    assert code == case.code, printed.err
    assert printed.err.count("\n") == 1
    assert re.search(case.says, printed.err), printed.err
    if code == 0:
        record = json.loads(printed.out)
        assert case.edges in (None, record["edges"])
        assert case.nodes in (None, record["nodes"])
    else:
        assert printed.err.startswith("graphsqueak: ")
    assert (tmp_path / case.name).read_bytes() == case.holds


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("s3://bucket/edges.tsv", r"aws s3 cp s3://bucket/edges.tsv - \| graphsqueak info -"),
        ("https://host/edges.tsv", r"curl -L https://host/edges.tsv \| graphsqueak info -"),
        ("gs://bucket/edges.tsv", "gs://"),
    ],
)
def test_an_address_instead_of_a_file(path, says, capsys):
    assert run(["info", path]) == 2
    said = capsys.readouterr().err
    assert re.search(says, said)
    assert "there is no file" not in said
    assert said.count("\n") == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_bytes(lines(WORDS))
    (tmp_path / "labels.csv").write_text("node,label\nban,red\nmap,blue\n")
    (tmp_path / "pairs.csv").write_bytes(lines(WORDS[:2], ","))
    (tmp_path / "points.csv").write_text("id,x,y\na,0,1\nb,2,3\nc,4,1\n")
    (tmp_path / "link.tsv").symlink_to("edges.tsv")
    (tmp_path / "hard.tsv").hardlink_to(tmp_path / "edges.tsv")
    (tmp_path / "labels_link.csv").symlink_to("labels.csv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.tsv").write_bytes(lines(WORDS))
    (tmp_path / "mine.tsv").write_text("mine")
    (tmp_path / "mails.csv").write_text("label,text\nspam,buy now\nham,see you\n")
    (tmp_path / "sums.sha256").write_bytes(lines(WORDS))
    (tmp_path / "run.predictions").write_bytes(lines(WORDS))
    return tmp_path


SPARSIFY = ["sparsify", "edges.tsv", "--keep", "0.9"]
OVER_INPUT = [
    [*SPARSIFY, "-o", "edges.tsv"],
    [*SPARSIFY, "-o", "./edges.tsv"],
    [*SPARSIFY, "-o", "link.tsv"],
    [*SPARSIFY, "-o", "hard.tsv"],
    ["sparsify", "link.tsv", "--keep", "0.9", "-o", "edges.tsv"],
    ["sparsify", "parts", "--keep", "0.9", "-o", "parts/a.tsv"],
    ["sparsify", "part?", "--keep", "0.9", "-o", "parts/a.tsv"],
    ["sparsify", "mine.tsv", "edges.tsv", "--keep", "0.9", "-o", "edges.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--report", "edges.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "edges.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "link.tsv", "--resume"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "out.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--report", "out.tsv"],
    ["label", "edges.tsv", "labels.csv", "-o", "labels.csv"],
    ["label", "edges.tsv", "labels.csv", "-o", "labels_link.csv"],
    ["label", "edges.tsv", "labels.csv", "-o", "edges.tsv"],
    ["resistance", "edges.tsv", "-o", "hard.tsv"],
    ["resistance", "edges.tsv", "--node-pairs", "pairs.csv", "-o", "pairs.csv"],
    ["merge", "edges.tsv", "mine.tsv", "-o", "edges.tsv"],
    ["neighbors", "points.csv", "-k", "1", "-o", "points.csv"],
    ["neighbors", "parts", "-k", "1", "-o", "out.tsv", "--label-template", "parts/a.tsv"],
    ["neighbors", "points.csv", "-k", "1", "-o", "out.tsv", "--label-template", "out.tsv"],
    [*SPARSIFY, "-o", "file:edges.tsv"],
    [*SPARSIFY, "-o", "file://edges.tsv"],
    [*SPARSIFY, "-o", "local://edges.tsv"],
    [*SPARSIFY, "-o", "FILE:%65dges.tsv"],
    [*SPARSIFY, "-o", "file:link.tsv"],
    ["sparsify", "file://edges.tsv", "--keep", "0.9", "-o", "edges.tsv"],
    ["sparsify", "local://edges.tsv", "--keep", "0.9", "-o", "file://hard.tsv"],
    ["sparsify", "file:parts", "--keep", "0.9", "-o", "parts/new.tsv"],
    ["sparsify", "parts", "--keep", "0.9", "-o", "file:parts/new.tsv"],
    ["sparsify", "parts/*.tsv", "--keep", "0.9", "-o", "parts/new.tsv"],
    ["sparsify", "file:parts/*.tsv", "--keep", "0.9", "-o", "parts/new.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--report", "file://edges.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--report", "file:out.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "local://edges.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "run", "--report", "run.sha256"],
    ["sparsify", "sums.sha256", "--keep", "0.9", "-o", "out.tsv", "--checkpoint", "sums"],
    ["label", "edges.tsv", "labels.csv", "-o", "file:labels.csv"],
    ["label", "edges.tsv", "file:labels.csv", "-o", "labels.csv"],
    ["resistance", "edges.tsv", "-o", "local://edges.tsv"],
    ["resistance", "edges.tsv", "--node-pairs", "file:pairs.csv", "-o", "pairs.csv"],
    ["merge", "parts/*.tsv", "-o", "parts/a.tsv"],
    ["merge", "edges.tsv", "-o", "file://edges.tsv"],
    ["neighbors", "file:points.csv", "-k", "1", "-o", "points.csv"],
    ["dictionary", "points.csv", "-m", "1", "-o", "points.csv"],
    ["dictionary", "points.csv", "-m", "1", "-o", "local://points.csv"],
    ["learn", "points.csv", "--target", "x", "-o", "file://points.csv"],
    ["learn", "file:points.csv", "--target", "x", "--checkpoint", "points.csv"],
    ["learn", "run.predictions", "--target", "x", "-o", "out.csv", "--checkpoint", "run"],
    ["learn", "sums.sha256", "--target", "x", "--checkpoint", "sums"],
    ["spam", "mails.csv", "--labels", "labels.csv", "-o", "file:mails.csv"],
    ["spam", "mails.csv", "--labels", "labels.csv", "--model", "file:labels.csv"],
    ["spam", "mails.csv", "--labels", "labels.csv", "-o", "out.csv", "--model", "./out.csv"],
]


@pytest.mark.parametrize("arguments", OVER_INPUT, ids=" ".join)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_an_output_that_is_an_input(arguments, force, folder, capsys):
    """Not even --force destroys what is read."""
    before = contents(folder)
    assert run([*arguments, *force]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert re.search("an input of this run|is the same file as", printed.err)
    assert contents(folder) == before


REPLACING = [
    [*SPARSIFY, "-o", "mine.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--report", "mine.tsv"],
    [*SPARSIFY, "-o", "out.tsv", "--checkpoint", "mine.tsv"],
    [*SPARSIFY, "-o", "mine.tsv", "--checkpoint", "run.ckpt", "--resume"],
    ["label", "edges.tsv", "labels.csv", "-o", "mine.tsv"],
    ["resistance", "edges.tsv", "-o", "mine.tsv"],
    ["merge", "parts/a.tsv", "-o", "mine.tsv"],
    ["neighbors", "points.csv", "-k", "1", "-o", "mine.tsv"],
]


@pytest.mark.parametrize("arguments", REPLACING, ids=" ".join)
def test_an_output_that_is_there_already(arguments, folder, capsys):
    before = contents(folder)
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert re.search(r"mine\.tsv .*--force", printed.err), printed.err
    assert contents(folder) == before
    assert run([*arguments, "--force", "--quiet"]) == 0
    assert (folder / "mine.tsv").read_bytes() != b"mine"


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_readme_beside_the_parts(folder, capsys):
    for name in ("README.md", "LICENSE", "README.txt", "sums.sha256", "plot.png", "_SUCCESS"):
        (folder / "parts" / name).write_text("# The edges of our graph\n\nTwo columns.\n")
    assert run(["info", "parts", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["edges"] == N
    assert "README.md" in printed.err


def test_a_folder_of_a_readme_alone(folder, capsys):
    (folder / "parts" / "a.tsv").rename(folder / "parts" / "README.md")
    assert run(["info", "parts"]) == 2
    assert re.search(r"parts .*README\.md", capsys.readouterr().err)


def test_several_files_as_arguments(folder, capsys):
    """As a shell makes them of edges-*.tsv."""
    (folder / "more.tsv").write_text("zig\tban\n")
    assert run(["info", "edges.tsv", "more.tsv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges"] == N + 1
    out = ["-o", "out.tsv", "--quiet"]
    assert run(["sparsify", "edges.tsv", "more.tsv", "--keep", "1", *out]) == 0
    assert run(["certify", "edges.tsv", "more.tsv", "out.tsv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_upper"] < 1e-9
    assert run(["label", "edges.tsv", "more.tsv", "labels.csv", "-o", "labeled.csv"]) == 0
    assert f"{NODES + 1:,} nodes labeled from 2" in capsys.readouterr().out


def test_a_result_to_standard_output(folder, capsysbinary):
    assert run([*SPARSIFY, "-o", "-", "--seed", "5"]) == 0
    printed = capsysbinary.readouterr()
    assert run([*SPARSIFY, "-o", "out.tsv", "--seed", "5"]) == 0
    assert printed.out == (folder / "out.tsv").read_bytes()
    assert b"edges on" in printed.err
    assert not (folder / "-").exists()
    capsysbinary.readouterr()
    assert run([*SPARSIFY, "-o", "-", "--json"]) == 2
    assert b"--json" in capsysbinary.readouterr().err


def test_a_result_loaded_elsewhere(folder):
    """pandas takes the first line as names; igraph and networkx want none."""
    assert run([*SPARSIFY, "-o", "out.tsv", "--quiet"]) == 0
    first = (folder / "out.tsv").read_text().splitlines()[0]
    assert first == "source\ttarget\tweight"
    assert run([*SPARSIFY, "-o", "bare.tsv", "--no-header-out", "--quiet", "--seed", "5"]) == 0
    assert run([*SPARSIFY, "-o", "bare.csv", "--no-header-out", "--quiet", "--seed", "5"]) == 0
    rows = [row.split("\t") for row in (folder / "bare.tsv").read_text().splitlines()]
    assert all(len(row) == 3 and float(row[2]) > 0 for row in rows)
    assert (folder / "bare.csv").read_text() == "".join(",".join(row) + "\n" for row in rows)
