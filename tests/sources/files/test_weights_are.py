"""Weights are similarities; distances are turned into 1 / d, and asked about by name."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse

from graphsqueak import DistanceWeightsWarning, InputError, read_edges, sparsify
from graphsqueak.cli import run
from graphsqueak.sources import follow_edges

ROADS = "from,to,distance_km\nann,bob,2\nbob,cy,0.5\ncy,ann,4\n"
FRAME = pd.DataFrame({"from": [1, 2, 3], "to": [2, 3, 1], "distance_km": [2.0, 0.5, 4.0]})
COLUMNS = ("from", "to", "distance_km")


def read(text, **options):
    return read_edges(io.BytesIO(text.encode()), **options).to_edge_list()


def test_a_distance_d_is_the_weight_1_over_d(tmp_path):
    graph = read(ROADS, weights_are="distance")
    assert graph.weight.tolist() == [0.5, 2.0, 0.25]
    assert read(ROADS.replace(",", ";"), weights_are="distance").weight.tolist() == [0.5, 2, 0.25]
    assert read("1 2 4\n2 3 8\n", weights_are="distance").weight.tolist() == [0.25, 0.125]
    for table in (FRAME, pl.DataFrame(FRAME)):
        weights = read_edges(table, weights_are="distance").to_edge_list().weight
        assert weights.tolist() == [0.5, 2.0, 0.25]
    for name in ("r.parquet", "r.arrow"):
        write = FRAME.to_parquet if name.endswith("parquet") else FRAME.to_feather
        write(tmp_path / name)
        weights = read_edges(tmp_path / name, weights_are="distance").to_edge_list().weight
        assert weights.tolist() == [0.5, 2.0, 0.25]
    assert read(ROADS, weights_are="similarity", columns=COLUMNS).weight.tolist() == [2.0, 0.5, 4.0]


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_entries_can_be_distances(symmetry, tmp_path):
    distance = scipy.sparse.coo_array(np.array([[0, 4, 0], [4, 0, 0.5], [0, 0.5, 0]]))
    scipy.io.mmwrite(tmp_path / "d.mtx", distance, symmetry=symmetry)
    graph = read_edges(tmp_path / "d.mtx", weights_are="distance").to_edge_list().simplified()
    assert graph.weight.tolist() == [0.25, 2.0]


def test_metis_weights_can_be_distances(tmp_path):
    (tmp_path / "d.graph").write_text("3 2 001\n2 4\n1 4 3 2\n2 2\n")
    graph = read_edges(tmp_path / "d.graph", weights_are="distance").to_edge_list()
    assert graph.weight.tolist() == [0.25, 0.5]
    (tmp_path / "d.graph").write_text("3 2 001\n2 4\n1 4 3 0\n2 0\n")
    with pytest.raises(
        InputError, match=r"d\.graph, the line of node 2: the distance to 3 is zero"
    ):
        read_edges(tmp_path / "d.graph", weights_are="distance").to_edge_list()
    (tmp_path / "d.graph").write_text("3 2\n2\n1 3\n2\n")
    with pytest.raises(InputError, match="no edge weights"):
        read_edges(tmp_path / "d.graph", weights_are="distance").to_edge_list()


@pytest.mark.parametrize("bad", ["0", "0.0", "1e-320", "-1"])
@pytest.mark.parametrize("names", [("ann", "bob", "cy"), ("1", "2", "3")])
def test_a_distance_of_zero_is_refused_with_its_line(bad, names, tmp_path):
    rows = [f"{names[k % 2]},{names[2]},{k + 1}\n" for k in range(300)]
    rows[200] = f"# a comment\n{names[0]},{names[1]},{bad}\n"
    (tmp_path / "d.csv").write_text("from,to,cost\n" + "".join(rows))
    message = r"d\.csv, line 203: (weight '-1' is negative|distance '.*' is zero or below 2.2e-308)"
    with pytest.raises(InputError, match=message):
        read_edges(tmp_path / "d.csv", weights_are="distance").to_edge_list()
    skipping = read_edges(tmp_path / "d.csv", weights_are="distance", on_bad_line="skip")
    assert skipping.to_edge_list().n_edges == 299
    assert skipping.n_bad_lines == 1
    assert np.isfinite(skipping.to_edge_list().weight).all()


def test_a_distance_of_zero_in_a_table_is_refused_with_its_row():
    zero = FRAME.assign(distance_km=[2.0, 0.0, 4.0])
    with pytest.raises(InputError, match=r"row 2 .*the distance is zero"):
        read_edges(zero, weights_are="distance").to_edge_list()
    kept = read_edges(zero, weights_are="distance", on_bad_line="skip").to_edge_list()
    assert kept.weight.tolist() == [0.5, 0.25]
    entry = b"%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n2 1 4\n3 2 0\n"
    with pytest.raises(InputError, match=r"line 5: distance '0' is zero"):
        read_edges(io.BytesIO(entry), weights_are="distance").to_edge_list()


def test_distances_must_be_there():
    with pytest.raises(InputError, match=r"no weight column, but weights_are='distance'"):
        read("source,target\n1,2\n", weights_are="distance")
    with pytest.raises(InputError, match="which weighted=False ignores"):
        read(ROADS, weights_are="distance", weighted=False)
    with pytest.raises(InputError, match="'metres' is not one of 'similarity', 'distance'"):
        read(ROADS, weights_are="metres")
    pattern = b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n"
    with pytest.raises(InputError, match="pattern without values"):
        read_edges(io.BytesIO(pattern), weights_are="distance").to_edge_list()


@pytest.mark.parametrize("name", ["distance", "Dist", "avgCost", "path_length", "travel_time",
                                  "DURATION", "rank", "distance_km"])  # fmt: skip
def test_a_column_named_like_distances_is_warned_of_once(name):
    text = ROADS.replace("distance_km", name)
    source = read_edges(io.BytesIO(text.encode()), columns=("from", "to", name))
    with pytest.warns(DistanceWeightsWarning, match=rf"column {name} .*weights_are='distance'"):
        graph = source.to_edge_list()
    assert graph.weight.tolist() == [2.0, 0.5, 4.0]
    table = read_edges(FRAME.rename(columns={"distance_km": name}), weighted=True)
    with pytest.warns(DistanceWeightsWarning):
        table.to_edge_list()
    table.to_edge_list()  # a second pass does not warn, nor does what follows
    read(text, columns=("from", "to", name), weights_are="similarity")
    assert read(text, weights_are="distance").weight.tolist() == [0.5, 2.0, 0.25]


@pytest.mark.parametrize("name", ["distinct", "lengthy", "costume", "ranking", "timestamps_seen",
                                  "weight", "hits"])  # fmt: skip
def test_other_columns_are_not_warned_of(name):
    read(ROADS.replace("distance_km", name), columns=("from", "to", name))


def test_pieces_and_growing_files_take_distances_too(tmp_path):
    path = tmp_path / "d.csv"
    rows = "".join(f"{k % 50},{k % 49 + 50},{k % 7 + 1}\n" for k in range(2000))
    path.write_text("from,to,cost\n" + rows)
    whole = read_edges(path, weights_are="distance").to_edge_list()
    tree = sparsify(
        read_edges(path, weights_are="distance"), n_edges=10**6, tree="balanced", n_parts=3
    )
    assert tree.weight.sum() == pytest.approx(whole.weight.sum())
    with pytest.warns(DistanceWeightsWarning) as told:
        sparsify(
            read_edges(path, columns=("from", "to", "cost")),
            n_edges=10**6,
            tree="balanced",
            n_parts=3,
        )
    assert len(told) == 1
    followed = follow_edges(io.BytesIO(ROADS.encode()), weights_are="distance")
    assert [w for batch in followed for w in batch.weight.tolist()] == [0.5, 2.0, 0.25]


def test_the_command_line_says_how_distances_were_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text(ROADS)
    chosen = ["info", "roads.csv", "--columns", "from,to,distance_km", "--json"]
    assert run(chosen) == 0
    warning, line = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: roads.csv: weights of column distance_km are read as simil")
    assert "--weights-are distance" in warning
    assert "weights distance_km as similarities (--weights-are distance reads distances)" in line
    assert run([*chosen, "--weights-are", "distance"]) == 0
    printed = capsys.readouterr()
    assert "weights distance_km as distances d, 1 / d each" in printed.err
    assert "warning" not in printed.err
    told = json.loads(printed.out)
    assert told["weight_total"] == 2.75
    assert told["input"]["weights_are"] == "distance"
    assert run([*chosen, "--weights-are", "similarity"]) == 0
    assert "distances" not in capsys.readouterr().err
    assert run(["info", "roads.csv"]) == 2
    said = capsys.readouterr().err
    assert "--columns from,to,distance_km for the weights as well, with --weights-are dist" in said
    assert run(["info", "roads.csv", "--weights-are", "distance", "--project"]) == 2
    assert "--weights-are" in capsys.readouterr().err


def test_a_sparsifier_of_distances_is_certified_against_them(tmp_path, monkeypatch, capsys):
    """Everything that reads the file again reads the same weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    ends = rng.integers(60, size=(900, 2))
    rows = [f"{u},{v},{d}\n" for (u, v), d in zip(ends, rng.uniform(1, 50, 900), strict=True)]
    (tmp_path / "roads.csv").write_text("from,to,distance\n" + "".join(rows))
    words = ["sparsify", "roads.csv", "-o", "out.csv", "--weights-are", "distance", "--keep", "0.9"]
    assert run([*words, "--seed", "2", "--certify", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["epsilon_upper"] < 0.5
    certify = ["certify", "roads.csv", "out.csv", "--weights-are", "distance", "--json"]
    assert run(certify) == 0
    assert json.loads(capsys.readouterr().out)["epsilon_upper"] < 0.5
