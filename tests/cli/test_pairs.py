"""Tables of pairs at the command line: every command that reads edges takes them."""

import json

import numpy as np
import pytest

from graphsqueak import read_edges, read_projection
from graphsqueak.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Thirty accounts of two kinds, each kind with devices of its own."""
    rng = np.random.default_rng(40_912)
    lines = ["account,device"]
    for account in range(30):
        for device in rng.choice(6, size=3, replace=False):
            lines.append(f"acc{account},{'ab'[account % 2]}{device}")
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "labels.csv").write_text("node,label\nacc0,a\nacc1,b\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *arguments):
    assert run([*arguments, "--columns", "account,device", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_pairs_are_sparsified_certified_and_described(folder, capsys):
    told = said(capsys, "info", "pairs.csv", "--project")
    assert (told["entities"], told["pairs"], told["components"]) == (30, 90, 2)
    made = said(
        capsys, "sparsify", "pairs.csv", "--project", "-o", "out.csv", "--n-edges", "90",
        "--seed", "4", "--clique-degree", "4", "--certify",
    )  # fmt: skip
    assert made["nodes"] == 30
    assert any("is not built" in remark for remark in made["input"]["remarks"])
    assert read_edges("out.csv").to_edge_list().n_edges <= 90
    proved = said(capsys, "certify", "pairs.csv", "out.csv", "--project", "--seed", "4")
    assert proved["epsilon_upper"] == pytest.approx(made["epsilon_upper"], rel=1e-6)


def test_accounts_are_labeled_by_shared_devices(folder, capsys):
    said(
        capsys, "label", "pairs.csv", "labels.csv", "--project", "-o", "out.csv", "--n-edges", "90"
    )
    rows = [line.split(",")[:2] for line in (folder / "out.csv").read_text().splitlines()[1:]]
    assert all(label == "ab"[int(node[3:]) % 2] for node, label in rows)


def test_resistances_between_entities(folder, capsys):
    (folder / "between.csv").write_text("acc0,acc2\n")
    read = ["pairs.csv", "--project", "--clique-degree", "2", "-o", "r.csv", "--rtol", "1e-8"]
    assert run(["resistance", *read, "--columns", "account,device"]) == 2
    assert "give the pairs of nodes to measure between (--node-pairs)" in capsys.readouterr().err
    said(
        capsys,
        "resistance",
        *read,
        "--node-pairs",
        "between.csv",
        "--n-edges",
        "120",
        "--seed",
        "3",
    )
    found = float((folder / "r.csv").read_text().splitlines()[1].split(",")[2])
    pairs = read_projection("pairs.csv", entity="account", attribute="device")
    inverse = np.linalg.pinv(pairs.multiply(np.eye(30)))
    ends = [pairs.ids.tolist().index(name) for name in ("acc0", "acc2")]
    part = inverse[np.ix_(ends, ends)]
    assert found == pytest.approx(part[0, 0] + part[1, 1] - 2 * part[0, 1], rel=1e-6)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--project", "--keep", "0.1"], "never enumerated"),
        (["--project", "--n-edges", "9", "--duplicates", "first"], "--duplicates"),
        (["--project", "--n-edges", "9", "--columns", "account"], "--columns"),
        (["--max-group-size", "9", "--n-edges", "9"], "give --project"),
        (["--project", "--normalize", "sum", "--n-edges", "9"], "normalize"),
        (["--project", "--epsilon", "0.1", "--clique-degree", "2"], "cannot be met"),
        (["--project", "--n-edges", "9", "--workers", "1"], "grouped by attribute"),
        (
            ["--project", "--n-edges", "29", "--method", "subgraph", "--clique-degree", "4"],
            "never built",
        ),
    ],
)
def test_what_pairs_cannot_be(folder, words, wrong, capsys):
    if "--columns" not in words:
        words = [*words, "--columns", "account,device"]
    assert run(["sparsify", "pairs.csv", "-o", "out.csv", *words]) == 2
    assert wrong in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
