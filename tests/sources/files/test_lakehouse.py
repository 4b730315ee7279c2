"""Folders of Delta Lake, Iceberg and Hudi hold deleted rows, so they are refused."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphsqueak import InputError, read_edges
from graphsqueak.cli import run
from graphsqueak.sources import follow_edges, read_projection

LOGS = {
    "Delta Lake": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/v1.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
}
EXPORTS = {
    "Delta Lake": r"deltalake\.DeltaTable\('[^']*table'\)\.to_pyarrow_table\(\)",
    "Iceberg": r"StaticTable\.from_metadata\('[^']*table/metadata/v1\.metadata\.json'\)",
    "Hudi": r"HudiTableBuilder\.from_base_uri\('[^']*table'\)",
}


def make_table(folder, form, data="data"):
    """A table whose two Parquet files are the snapshot before and after a deletion."""
    (folder / data).mkdir(parents=True)
    edges = pa.table({"source": [1, 2, 3], "target": [2, 3, 4]})
    pq.write_table(edges, folder / data / "before.parquet")
    pq.write_table(edges.slice(1), folder / data / "after.parquet")
    log = folder / LOGS[form]
    log.parent.mkdir()
    log.write_text("{}")
    return folder


@pytest.fixture(params=LOGS)
def form(request):
    return request.param


def test_no_path_into_a_table_is_read(form, tmp_path, monkeypatch):
    table = make_table(tmp_path / "lake" / "table", form, data="data/day=2024-01-01")
    monkeypatch.chdir(table / "data")
    os.symlink(table / "data", tmp_path / "link")
    paths = [
        table,
        str(table),
        table / "data",
        tmp_path / "lake",  # the table is a part of the folder
        table / "data" / "day=2024-01-01" / "after.parquet",
        f"{table}/data/**/*.parquet",
        f"{tmp_path}/lake/*",
        f"{tmp_path}/*/table/data",
        "day=2024-01-01",
        "*/after.parquet",
        tmp_path / "link",
        [tmp_path / "link" / "day=2024-01-01" / "after.parquet"],
    ]
    for path in paths:
        with pytest.raises(InputError, match=f"{form} table.*{EXPORTS[form]}"):
            read_edges(path)
    for read in (read_projection, follow_edges):
        with pytest.raises(InputError, match=f"{form} table"):
            read(table)


def test_an_empty_log_folder_marks_a_table(tmp_path):
    pq.write_table(pa.table({"source": [1], "target": [2]}), tmp_path / "a.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(InputError, match="Delta Lake"):
        read_edges(tmp_path)


def test_other_folders_of_these_names_are_read(tmp_path):
    """A folder metadata without the snapshots of Iceberg, and a name that only begins alike."""
    pq.write_table(pa.table({"source": [1], "target": [2]}), tmp_path / "a.parquet")
    (tmp_path / "_delta_logs").mkdir()
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "about.json").write_text("{}")
    assert read_edges(f"{tmp_path}/*.parquet").to_edge_list().n_edges == 1


def test_a_snapshot_passed_as_a_table_is_read():
    assert read_edges(pa.table({"source": [1], "target": [2]})).to_edge_list().n_edges == 1


def test_addresses_in_a_table_are_refused(form):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    try:
        system.pipe_file("/lake/table/day=1/a.csv", b"source,target\n1,2\n")
        system.pipe_file("/plain/a.csv", b"source,target\n1,2\n")
        addresses = (
            "memory://lake",
            "memory://lake/table",
            "memory://lake/table/",
            "memory://lake/table/day=1/a.csv",
            "memory://lake/table/*/a.csv",
            "memory://lake/*/day=1",
        )
        for address in addresses[:4]:
            assert read_edges(address).to_edge_list().n_edges == 1
        system.pipe_file(f"/lake/table/{LOGS[form]}", b"{}")
        for address in addresses:
            with pytest.raises(InputError, match=f"{form} table, memory://lake/table, "):
                read_edges(address)
        assert read_edges("memory://plain").to_edge_list().n_edges == 1
    finally:
        system.store.clear()


def test_every_command_refuses_a_table(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = make_table(tmp_path / "lake.parquet", form)
    part = str(table / "data" / "after.parquet")
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n2,3\n")
    (tmp_path / "labels.csv").write_text("node,label\n1,a\n")
    for words in (
        ["info", str(table)],
        ["sparsify", str(table), "-o", "out.csv", "--keep", "0.5"],
        ["label", str(table), "labels.csv", "-o", "out.csv"],
        ["label", "edges.csv", str(table), "-o", "out.csv"],
        ["label", "edges.csv", part, "-o", "out.csv"],
        ["neighbors", str(table), "-k", "2", "-o", "out.csv"],
        ["neighbors", part, "-k", "2", "-o", "out.csv"],
        ["resistance", "edges.csv", "--node-pairs", str(table), "-o", "out.csv"],
        ["info", "--project", str(table)],
        ["dictionary", part, "-m", "2", "-o", "out.csv"],
        ["learn", part, "--target", "target"],
        ["merge", str(table), "-o", "out.csv", "--n-edges", "2"],
        ["certify", str(table), "edges.csv"],
        ["certify", "edges.csv", str(table)],
    ):
        assert run(words) == 2, words
        assert f"{form} table" in capsys.readouterr().err, words
    assert not (tmp_path / "out.csv").exists()
