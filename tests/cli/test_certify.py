"""graphsqueak certify and sparsify --certify: files in, a proof out."""

import io
import json
import re
import sys

import pytest

from graphsqueak import read_edges, sources, write_edges
from graphsqueak.cli import run
from tests import reference
from tests.cli.test_sparsify import aligned


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "edges.tsv"
    write_edges(sources.block_model(400, 30_000, random_state=17), path)
    return path


def test_the_certificate_is_the_true_accuracy(edges, tmp_path, capsys):
    out = tmp_path / "sparse.tsv"
    assert run(["sparsify", str(edges), "-o", str(out), "--keep", "0.2", "--quiet"]) == 0
    assert run(["certify", str(edges), str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    truth = reference.epsilon(
        *aligned(read_edges(edges).to_edge_list(), read_edges(out).to_edge_list())
    )
    assert record["epsilon_upper"] == pytest.approx(truth, abs=1e-8)
    assert record["passes"] == 1
    assert record["kappa"] == record["lambda_max"] / record["lambda_min"]
    assert record["kappa_lower"] == pytest.approx(record["kappa"], rel=1e-7)
    assert run(["certify", str(edges), str(out)]) == 0
    printed = capsys.readouterr().out
    assert "no error is larger (exact)" in printed
    assert re.search(r"kappa +[\d.]+ ", printed)
    assert re.search(r"optimal_scale +[\d.]+ ", printed)


def test_epsilon_is_met_and_proved(edges, tmp_path, capsys):
    out = tmp_path / "sparse.parquet"
    command = ["sparsify", str(edges), "-o", str(out), "--epsilon", "0.3", "--seed", "1", "--json"]
    assert run(command) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["epsilon_lower"] <= record["epsilon_upper"] <= 0.3
    assert record["lambda_min"] >= 0.7
    assert record["kappa"] == record["lambda_max"] / record["lambda_min"]
    truth = reference.epsilon(
        *aligned(read_edges(edges).to_edge_list(), read_edges(out).to_edge_list())
    )
    assert truth == pytest.approx(record["epsilon_upper"], abs=1e-8)


def test_a_sparse_graph_is_corrected_until_epsilon_is_met(tmp_path, capsys):
    path, out = tmp_path / "grid.tsv", tmp_path / "out.tsv"
    write_edges(sources.chung_lu(500, 9_000, exponent=2.2, random_state=4), path)
    assert run(["sparsify", str(path), "-o", str(out), "--epsilon", "0.4", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["epsilon_upper"] <= 0.4
    assert record["edges_kept"] == read_edges(out).to_edge_list().n_edges


def test_a_pipe_is_predicted_only(edges, tmp_path, capsys, monkeypatch):
    out = str(tmp_path / "out.tsv")

    def pipe():
        text = io.TextIOWrapper(io.BytesIO(edges.read_bytes()))
        monkeypatch.setattr(sys, "stdin", text)

    pipe()
    assert run(["sparsify", "-", "-o", out, "--epsilon", "0.5"]) == 0
    assert "(predicted, not measured)" in capsys.readouterr().out
    pipe()
    assert run(["sparsify", "-", "-o", out, "--epsilon", "0.5", "--certify"]) == 2
    assert "a pipe can be read once" in capsys.readouterr().err


def test_no_sparsifier_is_told(edges, tmp_path, capsys):
    other = tmp_path / "other.tsv"
    write_edges(sources.cycle(400), other)
    assert run(["certify", str(edges), str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_lower"] > 0.99
    write_edges(sources.path(401), other)
    assert run(["certify", str(edges), str(other), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["epsilon_upper"] is None  # infinite
    assert "the sparsifier joins" in record["problem"]
    write_edges(sources.cycle(30), other)
    assert run(["certify", str(edges), str(other)]) == 2
    assert "is not in the sparsifier" in capsys.readouterr().err


def test_swapped_arguments_are_noticed(tmp_path, capsys):
    graph = tmp_path / "graph.tsv"
    part = tmp_path / "part.tsv"
    graph.write_text("a\tb\nb\tc\nc\ta\n")
    part.write_text("a\tb\nb\tc\n")
    assert run(["certify", str(part), str(graph)]) == 0
    assert "3 edges, more than the 2 of the graph" in capsys.readouterr().err
    assert run(["certify", str(graph), str(part)]) == 0
    assert "may be swapped" not in capsys.readouterr().err
