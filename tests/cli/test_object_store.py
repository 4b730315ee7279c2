"""Runs from and to s3://, on a server of the same protocol on this machine, beside local ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak import InputError, sources
from graphsqueak.cli import run

ROOT = Path(__file__).parents[2]
WHY = "needs a server of S3's protocol: pip install 'graphsqueak[test-remote]'"
SPARSIFY = ["--n-edges", "2000", "--seed", "6", "--quiet"]
KILLED = """
import os, signal
import graphsqueak as gs

def die(edges, fraction, note):
    if edges > 20_000:
        os.kill(os.getpid(), signal.SIGKILL)

source = gs.read_edges("s3://bucket/edges/part0.tsv", batch_size=5_000)
kept = {"checkpoint": "s3://bucket/run.ckpt", "checkpoint_interval": 0.0}
gs.sparsify(source, n_edges=2000, random_state=6, progress=die, **kept)
"""


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    """A folder on disk, and a bucket with the same files; both hold edges/part0.tsv and so on."""
    s3fs = pytest.importorskip("s3fs", reason=WHY)
    server = pytest.importorskip("moto.server", reason=WHY).ThreadedMotoServer(
        port=0, verbose=False
    )
    server.start()
    _, port = server.get_host_and_port()
    folder = tmp_path_factory.mktemp("edges")
    (folder / "edges").mkdir()
    graph = sources.erdos_renyi(500, 80_000, random_state=27_182).to_edge_list()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        system = s3fs.S3FileSystem(use_listings_cache=False)
        system.mkdir("bucket")
        gs.write_edges(graph.part(0, 40_000), "edges/part0.tsv")
        gs.write_edges(graph.part(40_000), "edges/part1.parquet")
        system.put("edges/", "bucket/edges", recursive=True)
        yield system
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.slow
def test_a_run_that_was_killed_is_resumed_to_the_bytes_of_a_local_one(bucket):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    killed = subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert killed.returncode == -9
    assert bucket.exists("bucket/run.ckpt")
    seen = gs.StreamSparsifier.load("s3://bucket/run.ckpt").n_edges_seen_
    assert 20_000 < seen < 40_000
    command = ["sparsify", "s3://bucket/edges/part0.tsv", "-o", "s3://bucket/out.tsv", *SPARSIFY]
    assert run([*command, "--checkpoint", "s3://bucket/run.ckpt", "--resume"]) == 0
    assert run(["sparsify", "edges/part0.tsv", "-o", "out.tsv", *SPARSIFY]) == 0
    assert bucket.cat_file("bucket/out.tsv") == Path("out.tsv").read_bytes()
    assert gs.StreamSparsifier.load("s3://bucket/run.ckpt").n_edges_seen_ == 40_000


@pytest.mark.slow
def test_two_workers_read_their_parts_from_the_store(bucket):
    pytest.importorskip("distributed")
    tree = ["--parts", "4", "--checkpoint"]
    local = ["sparsify", "edges", "-o", "tree.parquet", *SPARSIFY, *tree, "leaves"]
    assert run([*local, "--tree", "balanced"]) == 0
    command = ["sparsify", "s3://bucket/edges/", "-o", "s3://bucket/tree.parquet", *SPARSIFY, *tree]
    assert run([*command, "s3://bucket/leaves", "--workers", "2"]) == 0
    assert bucket.cat_file("bucket/tree.parquet") == Path("tree.parquet").read_bytes()
    leaves = sorted(path.name for path in Path("leaves").glob("*.ckpt"))
    assert len(leaves) > 2
    for name in leaves:  # made by the workers, and each of them put there
        assert bucket.cat_file(f"bucket/leaves/{name}") == (Path("leaves") / name).read_bytes()


@pytest.mark.slow
def test_a_bucket_is_read_and_what_is_missing_is_told_before_the_work(bucket, capsys):
    local, there = (gs.read_edges(f"{place}edges") for place in ("", "s3://bucket/"))
    for _ in range(2):
        assert np.array_equal(there.to_edge_list().weight, local.to_edge_list().weight)
    with pytest.raises(InputError, match="there is nothing to read at s3://bucket/none"):
        gs.read_edges("s3://bucket/none")
    with pytest.raises(InputError, match="does not exist; check the path of the checkpoint"):
        gs.StreamSparsifier.load("s3://bucket/none.ckpt")
    assert run(["sparsify", "edges", "-o", "s3://nowhere/out.tsv", *SPARSIFY]) == 2
    assert "the bucket nowhere does not exist; create it first" in capsys.readouterr().err
