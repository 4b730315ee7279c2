"""graphsqueak label: what it writes, what it prints, how it fails."""

import json

import networkx as nx
import polars as pl
import pytest

from graphsqueak.cli import run

KARATE = nx.karate_club_graph()
CLUB = {node: data["club"] for node, data in KARATE.nodes(data=True)}


@pytest.fixture
def files(tmp_path):
    edges, labels = tmp_path / "edges.tsv", tmp_path / "labels.csv"
    edges.write_text("".join(f"n{u}\tn{v}\n" for u, v in KARATE.edges))
    rows = [f"n{v},{CLUB[v] if v in (0, 33) else ''},{CLUB[v]}\n" for v in KARATE]
    labels.write_text("node,label,truth\n" + "".join(rows))
    return edges, labels, tmp_path / "out.csv"


CLASSIFIERS = [
    *[("--method", method) for method in ("auto", "streaming", "in-memory")],
    *[
        ("--baseline", name)
        for name in ("hfs", "simple-hfs", "subsampling", "eigfun", "1nn", "poisson")
    ],
]


@pytest.mark.parametrize(("option", "name"), CLASSIFIERS)
def test_every_node_gets_a_label(files, capsys, option, name):
    edges, labels, out = files
    command = ["label", str(edges), str(labels), "-o", str(out), option, name, "--json"]
    assert run([*command, "--seed", "7"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["method"] == name.replace("auto", "streaming")
    assert (record["nodes"], record["labelled"], record["classes"]) == (34, 2, 2)
    assert record["reached"] == 34
    assert record["accuracy"] > 0.7 or name == "eigfun"  # made for points
    table = pl.read_csv(out)
    assert table.columns == ["node", "label", "confidence"]
    assert dict(table.select("node", "label").iter_rows())["n1"] == "Mr. Hi"


def test_a_truth_of_labeled_nodes_alone_measures_nothing(files, capsys):
    edges, labels, out = files
    labels.write_text("node,label,truth\nn0,red,red\nn33,blue,blue\n")
    assert run(["label", str(edges), str(labels), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "34 nodes labeled from 2" in said
    assert "accuracy" not in said


@pytest.mark.parametrize("method", ["streaming", "in-memory"])
def test_a_column_weight_tells_how_far_a_label_is_trusted(files, capsys, method):
    """A label of weight 0 is none: without it one class is left."""
    edges, labels, out = files
    labels.write_text("node,label,weight\nn0,red,2\nn33,blue,0\nn2,red,\nn99,red,1\n")
    command = ["label", str(edges), str(labels), "-o", str(out), "--json", "--method", method]
    assert run(command) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["classes"], record["weighted"]) == (1, 3)
    assert set(pl.read_csv(out)["label"]) == {"red"}


@pytest.mark.parametrize("weight", ["much", "-1", "nan", "inf"])
def test_a_bad_weight_is_refused_with_its_line(files, capsys, weight):
    edges, labels, out = files
    labels.write_text(f"node,label,weight\nn0,red,1\nn33,blue,{weight}\n")
    assert run(["label", str(edges), str(labels), "-o", str(out)]) == 2
    assert f"labels.csv, line 3: the weight {weight!r}"[:28] in capsys.readouterr().err
    assert not out.exists()


def test_weights_are_refused_where_they_would_not_count(files, capsys):
    edges, labels, out = files
    labels.write_text("node,label,weight\nn0,red,1\nn33,blue,2\n")
    assert run(["label", str(edges), str(labels), "-o", str(out), "--baseline", "hfs"]) == 2
    assert "weights of labels, which baselines do not use" in capsys.readouterr().err


def test_integer_ids_match_integer_labels(tmp_path, capsys):
    edges, labels = tmp_path / "edges.csv", tmp_path / "labels.tsv"
    edges.write_text("".join(f"{u + 1000},{v + 1000}\n" for u, v in KARATE.edges))
    labels.write_text("1000\tred\n1033\tblue\n")
    out = tmp_path / "out.parquet"
    assert run(["label", str(edges), str(labels), "-o", str(out)]) == 0
    assert "34 nodes labeled from 2 in 2 classes" in capsys.readouterr().out
    found = dict(pl.read_parquet(out).select("node", "label").iter_rows())
    assert (found[1001], found[1032]) == ("red", "blue")


def test_text_ids_match_labels_that_look_like_numbers(tmp_path, capsys):
    """One node is named by a letter, so all are text; the labels are of others, and numbers."""
    edges, labels = tmp_path / "edges.tsv", tmp_path / "labels.csv"
    edges.write_text("".join(f"{u}\t{v}\n" for u, v in KARATE.edges) + "0\tx\n")
    rows = [f"{v},{CLUB[v] if v in (0, 33) else ''},{CLUB[v]}\n" for v in KARATE]
    labels.write_text("node,label,truth\n" + "".join(rows))
    out = tmp_path / "out.csv"
    assert run(["label", str(edges), str(labels), "-o", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["nodes"], record["labelled"]) == (35, 2)
    assert record["accuracy"] > 0.7


@pytest.mark.parametrize("header", ["node,label\n", ""])
def test_leading_zeros_of_labeled_nodes_are_kept_as_in_edges(header, tmp_path, capsys):
    """007 was read as the integer 7, and its label given to the node 7."""
    edges, labels = tmp_path / "edges.csv", tmp_path / "labels.csv"
    edges.write_text("source,target\n007,008\n008,009\n7,8\n8,9\n")
    labels.write_text(f"{header}007,agent\n9,number\n")
    out = tmp_path / "out.csv"
    command = ["label", str(edges), str(labels), "-o", str(out), "--force"]
    assert run(command) == 0
    found = dict(pl.read_csv(out, infer_schema=False).select("node", "label").iter_rows())
    assert found == dict.fromkeys(["007", "008", "009"], "agent") | dict.fromkeys("789", "number")
    assert run([*command, "--ids", "integer"]) == 0
    assert pl.read_csv(out)["node"].sort().to_list() == [7, 8, 9]


def test_text_ids_of_labels_are_as_they_are_written(tmp_path, capsys):
    edges, labels = tmp_path / "edges.csv", tmp_path / "labels.csv"
    edges.write_text("source,target\n1.0,2.0\n1,2\n")
    labels.write_text("node,label\n1.0,float\n2.0,float\n1,integer\n")
    out = tmp_path / "out.csv"
    assert run(["label", str(edges), str(labels), "-o", str(out), "--ids", "text"]) == 0
    found = dict(pl.read_csv(out, infer_schema=False).select("node", "label").iter_rows())
    assert found == {"1.0": "float", "2.0": "float", "1": "integer", "2": "integer"}


def test_a_small_budget_is_kept(tmp_path, capsys):
    from graphsqueak.sources import block_model, write_edges

    edges, labels = tmp_path / "edges.parquet", tmp_path / "labels.csv"
    write_edges(block_model(300, 30_000, n_blocks=2, random_state=5), edges)
    labels.write_text("node,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    out = tmp_path / "out.tsv"
    command = ["label", str(edges), str(labels), "-o", str(out), "--n-edges", "2000", "--json"]
    assert run([*command, "--seed", "7"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["edges_read"] == 30_000
    assert record["edges_used"] <= 2_000 + 600
    table = pl.read_csv(out, separator="\t")
    assert (table["node"] % 2 == table["label"]).mean() > 0.9


@pytest.mark.parametrize("method", ["streaming", "in-memory"])
def test_a_labeled_node_without_an_edge_keeps_its_label(tmp_path, capsys, method):
    edges, labels, out = (tmp_path / name for name in ("edges.tsv", "labels.csv", "out.csv"))
    edges.write_text("".join(f"{u}\t{v}\n" for u, v in KARATE.edges))
    rows = [f"{v},{CLUB[v]}\n" for v in (0, 1, 33, 32)] + ["77,Officer\n", "78,Mr. Hi\n"]
    labels.write_text("node,label\n" + "".join(rows))
    command = ["label", str(edges), str(labels), "-o", str(out), "--method", method]
    extra = ["--per-class", "--positive-class", "Officer"]
    assert run([*command, *extra]) == 0
    said = capsys.readouterr().err
    assert "have no edge (77 is one): 2 keep their labels; check the spelling" in said
    table = pl.read_csv(out)
    assert table.height == len(KARATE) + 2
    assert table.tail(2)["node"].to_list() == [77, 78]
    assert table.tail(2)["label"].to_list() == ["Officer", "Mr. Hi"]
    assert table.tail(2)["confidence"].to_list() == [1.0, 1.0]
    assert table.tail(2)["score"].to_list() == [1.0, 0.0]
    shares = table.select(pl.selectors.starts_with("probability_")).tail(2)
    assert shares.sum_horizontal().to_list() == [1.0, 1.0]
    labels.write_text("node,label\n0,a\n1,a\n2,a\n33,b\n99,c\n")  # no other node of class c
    assert run([*command, "--force"]) == 2
    assert "node 99, which is not in the graph" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node,label\nzoe,1\n", "'zoe', which is not in the graph"),
        ("node,label\nn1,a\nn1,b\n", "two labels"),
        ("node,label\nn1,\n", "labels no node"),
        ("a,b,c\n1,2,3\n", "name two of them node and label"),
    ],
)
def test_unusable_labels_leave_nothing_behind(files, capsys, text, said):
    edges, labels, out = files
    labels.write_text(text)
    assert run(["label", str(edges), str(labels), "-o", str(out), "--quiet"]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    "extra",
    [
        ["--method", "magic"],
        ["--baseline", "hfs", "--eta", "1"],
        ["--baseline", "hfs", "--keep", "0.1"],
        ["--baseline", "hfs", "--positive-class", "Officer", "--recall", "0.5"],
        ["--baseline", "hfs", "--method", "in-memory"],
        ["--method", "in-memory", "--keep", "0.1"],
    ],
)
def test_options_that_do_not_go_together(files, capsys, extra):
    edges, labels, out = files
    assert run(["label", str(edges), str(labels), "-o", str(out), *extra]) == 2
    assert capsys.readouterr().err.startswith("graphsqueak: ")


def test_missing_labels_are_named(files, capsys):
    edges, _, out = files
    assert run(["label", str(edges), "nowhere.csv", "-o", str(out)]) == 2
    assert "nowhere.csv does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "name"), CLASSIFIERS)
def test_sets_are_written_beside_the_labels(files, capsys, option, name):
    edges, labels, out = files
    known = (0, 1, 2, 4, 5, 8, 23, 27, 30, 32, 33)
    rows = [f"n{v},{CLUB[v] if v in known else ''}\n" for v in KARATE]
    labels.write_text("node,label\n" + "".join(rows))
    command = ["label", str(edges), str(labels), "-o", str(out), option, name, "--json"]
    assert run([*command, "--prediction-sets", "0.2", "--seed", "7"]) == 0
    record = json.loads(capsys.readouterr().out)
    table = pl.read_csv(out)
    assert table.columns == ["node", "label", "confidence", "set"]
    others = [
        (label, text.split("|"))
        for node, label, text in table.select("node", "label", "set").iter_rows()
        if int(node[1:]) not in known
    ]
    assert all(label in found for label, found in others)
    mean = sum(len(found) for _, found in others) / len(others)
    assert record["average_set_size"] == pytest.approx(mean)
    assert record["prediction_sets"] == 0.2
    assert set(table["set"]) <= {"Mr. Hi", "Officer", "Mr. Hi|Officer"}


@pytest.mark.parametrize(
    ("rate", "name", "said"),
    [
        ("0.7", "a", "--prediction-sets 0.7 must be above 0.0 and below 0.5"),
        ("0.1", "a|b", "contains |"),
    ],
)
def test_sets_that_cannot_be_written_leave_nothing_behind(files, capsys, rate, name, said):
    edges, labels, out = files
    labels.write_text(f"node,label\nn0,{name}\nn33,c\n")
    assert run(["label", str(edges), str(labels), "-o", str(out), "--prediction-sets", rate]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert not out.exists()


def test_sets_are_told_in_words(files, capsys):
    edges, labels, out = files
    assert run(["label", str(edges), str(labels), "-o", str(out), "--prediction-sets", "0.3"]) == 0
    assert "2.00 classes in a set" in capsys.readouterr().out  # two labels say nothing


def test_passes_are_told_and_a_pipe_has_one(tmp_path, capsys):
    from graphsqueak.sources import block_model, write_edges

    edges, labels = tmp_path / "edges.parquet", tmp_path / "labels.csv"
    write_edges(block_model(300, 40_000, n_blocks=2, random_state=7), edges)
    labels.write_text("node,label\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    command = ["label", str(edges), str(labels), "-o", str(tmp_path / "out.csv"), "--force"]
    command += ["--n-edges", "2000", "--seed", "7"]
    records = {}
    for passes in ("auto", "1", "2"):
        assert run([*command, "--max-passes", passes, "--json"]) == 0
        records[passes] = json.loads(capsys.readouterr().out)
    assert records["1"]["passes"] == 1
    assert records["1"]["unstable"] is None
    assert records["2"]["passes"] == 2
    assert 2 <= records["auto"]["passes"] <= 4
    assert 0 <= records["auto"]["unstable"] < 300
    assert run(command) == 0
    assert "labels may still differ from those of the whole graph" in capsys.readouterr().out
    assert run([*command, "--max-passes", "none"]) == 2
    assert "--max-passes none is neither auto nor a positive number" in capsys.readouterr().err
    assert run([*command[:-4], "--baseline", "hfs", "--max-passes", "2"]) == 2
    assert "--max-passes is for --method streaming" in capsys.readouterr().err


def test_floats_that_pandas_made_of_integers_are_the_integers(tmp_path, capsys):
    """A column of ids or classes with gaps is one of floats, here beside one without gaps."""
    edges, out = tmp_path / "edges.csv", tmp_path / "out.csv"
    edges.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in KARATE.edges))
    frame = pl.DataFrame(
        {
            "node": [float(v) for v in KARATE],
            "label": [float(CLUB[v] == "Officer") if v in (0, 33) else None for v in KARATE],
            "truth": [int(CLUB[v] == "Officer") for v in KARATE],
        }
    )
    frame.write_csv(tmp_path / "labels.csv")
    frame.with_columns(pl.col("label").fill_null(float("nan"))).write_parquet(
        tmp_path / "labels.parquet"
    )
    for name in ("labels.csv", "labels.parquet"):
        command = ["label", str(edges), str(tmp_path / name), "-o", str(out), "--json", "--force"]
        assert run([*command, "--seed", "7"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["nodes"], record["labelled"], record["classes"]) == (34, 2, 2)
        assert record["accuracy"] > 0.7
        assert set(pl.read_csv(out, infer_schema=False)["label"]) == {"0", "1"}
    frame.with_columns(pl.col("node") + 2.0**53).write_csv(tmp_path / "labels.csv")
    assert run(["label", str(edges), str(tmp_path / "labels.csv"), "-o", str(out), "--force"]) == 2
    assert "beyond 2^53" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "name"), CLASSIFIERS)
def test_every_node_of_labels_is_in_the_result(tmp_path, capsys, option, name):
    """Nodes without an edge: 70 has a label, 71 a truth, 72 nothing, 73 a label that is none."""
    edges, labels, out = (tmp_path / name for name in ("edges.tsv", "labels.csv", "out.csv"))
    edges.write_text("".join(f"{u}\t{v}\n" for u, v in KARATE.edges) + "50\t51\n")
    known = [f"{v},{CLUB[v]},\n" for v in (0, 1, 2, 3, 33, 32)]
    labels.write_text(
        "node,label,truth\n" + "".join(known) + "70,Officer,\n71,,Officer\n72,,\n73,-1,Mr. Hi\n"
    )
    command = ["label", str(edges), str(labels), "-o", str(out), option, name, "--seed", "1"]
    assert run([*command, "--per-class"]) == 0
    printed = capsys.readouterr()
    assert "note: 4 nodes of" in printed.err
    assert "have no edge (70 is one): 1 keeps its label, 3 get the most" in printed.err
    summary = "nodes labeled from 7 in 2 classes, 35 in a component with a label"
    assert f"{len(KARATE) + 2 + 4} {summary}" in printed.out
    table = pl.read_csv(out)
    assert table["node"].tail(4).to_list() == [70, 71, 72, 73]
    assert table["label"].tail(4).to_list() == ["Officer", "Mr. Hi", "Mr. Hi", "Mr. Hi"]
    # Two of the six labels in the graph are of Officer.
    assert table["confidence"].tail(4).to_list() == pytest.approx([1.0, 2 / 3, 2 / 3, 2 / 3])
    assert table["probability_Officer"].tail(4).to_list() == pytest.approx(
        [1.0, 1 / 3, 1 / 3, 1 / 3]
    )
    assert table["probability_Mr. Hi"].tail(4).to_list() == pytest.approx(
        [0.0, 2 / 3, 2 / 3, 2 / 3]
    )
    # Nodes of the graph that no label reaches get the same.
    lost = table.filter(pl.col("node").is_in([50, 51]))
    assert lost["label"].to_list() == ["Mr. Hi", "Mr. Hi"]
    assert lost["confidence"].to_list() == pytest.approx([2 / 3, 2 / 3])
    assert run([*command, "--json", "--force"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["nodes"], record["reached"]) == (len(KARATE) + 6, len(KARATE) + 1)
    assert (record["without_an_edge"], record["without_an_edge_or_label"]) == (4, 3)
    assert record["accuracy"] == 0.5  # of 71 and 73


@pytest.mark.parametrize("way", [["--top", "40"], ["--min-score", "0.5"], ["--recall", "0.5"], []])
def test_nodes_without_an_edge_are_flagged_as_others_are(tmp_path, capsys, way):
    edges, labels, out = (tmp_path / name for name in ("edges.tsv", "labels.csv", "out.csv"))
    edges.write_text("".join(f"n{u}\tn{v}\n" for u, v in KARATE.edges) + "lost1\tlost2\n")
    known = [f"n{v},{CLUB[v]}\n" for v in (0, 1, 2, 3, 7, 33, 32, 31, 30, 29)]
    labels.write_text("node,label\n" + "".join(known) + "alone1,Officer\nalone2,\n")
    command = [
        "label",
        str(edges),
        str(labels),
        "-o",
        str(out),
        "--positive-class",
        "Officer",
        "--json",
    ]
    assert run([*command, *way, "--seed", "1"]) == 0
    record = json.loads(capsys.readouterr().out)
    table = pl.read_csv(out)
    row = {name: entry for name, *entry in table.select("node", "score", "flagged").iter_rows()}
    assert row["alone1"] == [1.0, True]
    assert row["alone2"] == row["lost1"] == row["lost2"]
    labeled = [line.split(",")[0] for line in known]
    others = table.filter(~pl.col("node").is_in([*labeled, "alone1"]))
    assert record["flagged"] == others["flagged"].sum()
    if way[:1] == ["--min-score"]:
        assert (others["flagged"] == (others["score"] >= 0.5)).all()


def test_sets_and_weights_of_nodes_without_an_edge(tmp_path, capsys):
    edges, labels, out = (tmp_path / name for name in ("edges.tsv", "labels.csv", "out.csv"))
    edges.write_text("".join(f"{u}\t{v}\n" for u, v in KARATE.edges))
    known = [f"{v},{CLUB[v]},1\n" for v in (0, 1, 2, 3, 33, 32, 31, 30)]
    labels.write_text("node,label,weight\n" + "".join(known) + "70,Officer,2\n71,,\n72,Officer,0\n")
    assert run(["label", str(edges), str(labels), "-o", str(out), "--prediction-sets", "0.2"]) == 0
    assert "3 nodes of" in capsys.readouterr().err
    table = pl.read_csv(out)
    assert table["set"].tail(3).to_list() == ["Officer", "Mr. Hi|Officer", "Mr. Hi|Officer"]
    assert table["label"].tail(3).to_list() == ["Officer", "Mr. Hi", "Mr. Hi"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_labels_may_have_other_names(files, capsys, suffix):
    edges, labels, out = files
    table = pl.read_csv(labels)
    # Columns that are called node and label are not used if others are named.
    renamed = table.select(
        pl.lit("nobody").alias("node"),
        pl.col("label").alias("club"),
        pl.col("node").alias("member"),
        pl.lit("?").alias("label"),
        "truth",
    )
    other = labels.with_name(f"other{suffix}")
    renamed.write_csv(other) if suffix == ".csv" else renamed.write_parquet(other)
    command = ["label", str(edges)]
    more = ["-o", str(out), "--json", "--force", "--seed", "3"]
    assert run([*command, str(labels), *more]) == 0
    expected = json.loads(capsys.readouterr().out)
    named = ["--node-column", "member", "--label-column", "club"]
    assert run([*command, str(other), *more, *named]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in ("nodes", "labelled", "classes", "accuracy"):
        assert found[name] == expected[name]
    assert run([*command, str(other), *more, "--node-column", "who"]) == 2
    assert "no column 'who' (it has node, club, member, label, truth); see --node-column" in (
        capsys.readouterr().err
    )


def test_ids_of_a_named_column_are_read_as_those_of_the_edges(tmp_path, capsys):
    edges, labels, out = (tmp_path / name for name in ("edges.tsv", "labels.csv", "out.csv"))
    edges.write_text("".join(f"{u:03d}\t{v:03d}\n" for u, v in KARATE.edges))
    labels.write_text("club,member\na,000\nb,033\n")
    named = ["--node-column", "member", "--label-column", "club"]
    assert run(["label", str(edges), str(labels), "-o", str(out), *named]) == 0
    assert pl.read_csv(out, infer_schema=False)["node"].to_list()[0] == "000"


def test_the_schema_is_reported_before_the_result_and_the_seed_last(files, capsys):
    edges, labels, out = files
    assert run(["label", str(edges), str(labels), "-o", str(out)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "undirected; columns" in lines[0]
    assert lines[-1].startswith("seed ")
