"""The page on messages quotes messages that the package prints, and no others."""

import gzip
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.cli import run

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "troubleshooting.md"
# The first cell of a row is one quoted message.
QUOTED = re.findall(r"^\| `((?:[^`|]|\\\|)+)` \|", PAGE.read_text(), re.MULTILINE)
SQUARE = gs.sources.cycle(4).to_edge_list()

TRIANGLE = "a\tb\nb\tc\nc\ta\n"
INTEGERS = "".join(f"{i}\t{(7 * i + 1) % 500}\n" for i in range(200_000))
TIMES = "source,target,ts\na,b,2024-01-05\nb,c,2024-01-02\nc,a,2024-01-09\n"

# Names of files and their content, for the commands below.
FILES = {
    "ages.tsv": "a\tb\t1500000000\nb\tc\t1500000100\nc\ta\t1500000300\n",
    "header.tsv": "u\tv\nv\tw\nw\tu\n",
    "items.csv": "user,item\n1,1\n2,1\n2,3\n",
    "friends.csv": "id,user,friend\n1,5,6\n2,6,7\n3,7,5\n",
    "bars.txt": "a|b\nb|c\n",
    "ragged.csv": "source,target\na,b\nb,c,d,e\n",
    "names.csv": "source,target\na,b\nb,c\n",
    "mixed.tsv": INTEGERS + "x9\t3\n",
    "weights.tsv": "a\tb\t1\nb\tc\tabc\n",
    "roads.csv": "source,target,length\na,b,3\nb,c,4\n",
    "graph.json": "{}",
    "events.csv": TIMES,
    "triangle.tsv": TRIANGLE,
    "other.tsv": "x\ty\ny\tz\nz\tx\n",
}
READING = [
    "info ages.tsv",
    "info header.tsv",
    "info items.csv",
    "info friends.csv",
    "info bars.txt",
    "info ragged.csv",
    "info mixed.tsv",
    "info weights.tsv",
    "info roads.csv",
    "info roads.csv --columns source,target,length",
    "info cut.tsv.gz",
    "info bomb.tsv.gz",
    "info graph.json",
    "sparsify events.csv -o new.tsv --keep 0.5 --time ts --window 7d",
]
WRITING = [
    "sparsify social.tsv -o new.tsv",
    "sparsify social.tsv -o new.tsv --n-edges 50",
    "sparsify names.csv -o new.tsv --project --keep 0.5",
    "sparsify social.tsv -o old.tsv --n-edges 9000 --seed 7 --checkpoint run.ckpt",
    "sparsify social.tsv -o old.tsv --n-edges 9000",
    "sparsify social.tsv -o new.tsv --n-edges 8000 --seed 7 --checkpoint run.ckpt --resume",
    "certify triangle.tsv other.tsv",
]


def solve_with_few_steps():
    solver = gs.LaplacianSolver(gs.sources.grid(20, 20), solver="jacobi", max_iter=1)
    solver.solve(np.r_[1.0, np.zeros(398), -1.0])


def solve_with_few_passes():
    graph = gs.sources.block_model(300, 5_000, random_state=7)
    solver = gs.StreamedSolver(graph, n_edges=310, tol=1e-12, max_passes=3, random_state=7)
    solver.solve(np.r_[1.0, np.zeros(298), -1.0])


def fit(graph, labels):
    gs.StableHFSClassifier(random_state=7).fit(graph, labels)


def fit_random_labels():
    labels = np.where(np.arange(300) < 120, np.random.default_rng(7).integers(2, size=300), -1)
    fit(gs.sources.erdos_renyi(300, 5_000, random_state=7), labels)


def sparsify_directed_graph():
    import networkx as nx

    gs.sparsify(nx.DiGraph([(0, 1), (1, 2)]), keep=0.5)


PYTHON = [
    solve_with_few_steps,
    solve_with_few_passes,
    fit_random_labels,
    sparsify_directed_graph,
    lambda: fit(gs.EdgeList.from_pairs([("a", "b"), ("b", "c")]), np.array([0, 1, -1])),
    lambda: fit(SQUARE, {0: "red", 1: "blue", 77: "red"}),
    lambda: fit(gs.EdgeList.from_pairs([(0, 1), (1, 2), (3, 4)]), {0: "red", 1: "blue"}),
    lambda: fit(gs.sources.grid(5, 5), np.r_[-1, 1, -1, 1, np.zeros(21, dtype=int)]),
    lambda: gs.certify(gs.read_edges(io.BytesIO(TRIANGLE.encode())), SQUARE),
]


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """All messages that the commands and calls above print, without names of files."""
    folder = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    gs.write_edges(gs.datasets.social_graph(), folder / "social.tsv")
    (folder / "cut.tsv.gz").write_bytes(gzip.compress(INTEGERS.encode())[:50_000])
    # A highly compressible file: many copies of a compressed block of equal lines.
    (folder / "bomb.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 2**20) * 80)

    found = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        patch.setattr("graphsqueak.cli._print_on_stderr", found.append)
        for command in [*READING, *WRITING]:
            run(command.split())
    for call in PYTHON:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                call()
            except gs.InputError as error:
                found.append(str(error))
        found += [str(warning.message) for warning in caught]
    return found


def as_pattern(quoted):
    """Return a regular expression for a message in which ... stands for any text.

    >>> bool(re.search(as_pattern("no column named ..., see"), "no column named 'x', see"))
    True
    """
    parts = quoted.replace("\\|", "|").removesuffix(" ...").split("...")
    return ".*".join(map(re.escape, parts))


def test_the_page_quotes_the_most_likely_messages():
    assert len(QUOTED) >= 25


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_printed(quoted, messages):
    assert any(re.search(as_pattern(quoted), message) for message in messages), "\n".join(messages)
