"""graphsqueak merge: checkpoints and sparsifiers of parts are one sparsifier of the whole."""

import json

import numpy as np
import pytest

from graphsqueak import StreamSparsifier, read_edges, sources, write_edges
from graphsqueak.cli import run
from graphsqueak.sources.files.splitting import split
from tests import reference


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Three parts of a graph, each as a checkpoint and as a sparsifier."""
    folder = tmp_path_factory.mktemp("parts")
    graph = sources.erdos_renyi(200, 30_000, random_state=51).to_edge_list()
    for number, part in enumerate(split(graph, 3)):
        stream = StreamSparsifier(n_edges=2_000, random_state=number).partial_fit(part)
        stream.save(folder / f"{number}.ckpt")
        write_edges(stream.sparsifier(), folder / f"{number}.tsv")
    return folder, graph


def merged(files, out, *more):
    assert run(["merge", *map(str, files), "-o", str(out), "--seed", "3", "--json", *more]) == 0
    result = read_edges(out).to_edge_list()
    order = np.argsort(result.ids)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return type(result)(tail=number[result.tail], head=number[result.head], weight=result.weight)


def test_checkpoints_keep_to_their_budget_and_the_degrees(parts, tmp_path, capsys):
    folder, graph = parts
    result = merged(sorted(folder.glob("*.ckpt")), tmp_path / "out.tsv")
    record = json.loads(capsys.readouterr().out)
    assert record["edges_read"] == 30_000
    assert record["components"] == 1
    assert 1_800 <= result.n_edges == record["edges_kept"] <= 2_000
    np.testing.assert_allclose(result.degrees(), graph.degrees(), rtol=0.02)
    assert reference.epsilon(graph, result) < 0.5


def test_sparsifiers_add_up_and_are_thinned_on_request(parts, tmp_path):
    folder, graph = parts
    files = sorted(folder.glob("*.tsv"))
    whole = merged(files, tmp_path / "sum.tsv")
    expected = sum(read_edges(file).to_edge_list().weight.sum() for file in files)
    assert whole.weight.sum() == pytest.approx(expected)
    assert reference.epsilon(graph, whole) < 0.3
    assert merged(files, tmp_path / "thin.tsv", "--n-edges", "1500").n_edges <= 1_500


@pytest.mark.parametrize(
    ("chosen", "more", "said"),
    [
        (["0.ckpt", "1.tsv"], [], "is not a checkpoint, but other files are"),
        (["0.ckpt", "1.ckpt"], ["--n-edges", "9"], "have a budget already; remove n_edges"),
    ],
)
def test_what_does_not_fit_is_refused(parts, tmp_path, capsys, chosen, more, said):
    files = [str(parts[0] / name) for name in chosen]
    assert run(["merge", *files, "-o", str(tmp_path / "out.tsv"), *more]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.tsv").exists()
