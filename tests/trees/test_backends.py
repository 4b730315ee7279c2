"""Trees on Dask: the same bytes as in this process, however workers are reached, and killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import chain
from pathlib import Path

import distributed
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamedSolver,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.cli import run
from graphsqueak.kernel import SQUEAK
from graphsqueak.sources.files.splitting import split
from graphsqueak.sparsifiers.tree.parts import grow_tree
from graphsqueak.system.time_limits import TIMEOUT_VARIABLE
from graphsqueak.trees import backends
from graphsqueak.trees.backends import open_backend
from graphsqueak.trees.running import run_tree
from graphsqueak.trees.shapes import as_tree
from tests.kernel.problems import clusters

ROOT = Path(__file__).parents[2]
SETTINGS = {"n_edges": 3_000}


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread, and whoever starts them again."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as local:
        yield local


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Eight files of 25,000 edges."""
    path = tmp_path_factory.mktemp("parts")
    graph = sources.block_model(300, 200_000, random_state=31_415).to_edge_list()
    for number, part in enumerate(split(graph, 8)):
        write_edges(part, path / f"part{number}.tsv")
    return path


@pytest.mark.parametrize("shape", ["guided", "balanced", 4])
def test_a_cluster_gives_the_bytes_of_this_process(cluster, folder, shape):
    pieces = split(read_edges(folder), 8)
    arguments = {"settings": SETTINGS, "seed": 5, "shape": shape}
    with open_backend(scheduler=cluster.scheduler_address) as backend:
        there = grow_tree(pieces, **arguments, backend=backend)
    here = grow_tree(pieces, **arguments)
    assert there.run.result == here.run.result
    assert there.run.moved_bytes == here.run.moved_bytes
    assert there.run.worker_peak_bytes > 50 << 20


@pytest.mark.parametrize("form", ["row groups", "ranges of bytes"])
def test_pieces_of_one_file_are_read_by_workers(cluster, tmp_path, form):
    ends = np.random.default_rng(9).integers(200, size=(2, 40_000))
    if form == "row groups":
        path = tmp_path / "edges.parquet"
        pq.write_table(pa.table({"source": ends[0], "target": ends[1]}), path, row_group_size=4_000)
    else:
        path = tmp_path / "edges.tsv"
        np.savetxt(path, ends.T, fmt="%d", delimiter="\t")
    arguments = {"n_edges": 2_000, "n_parts": 6, "random_state": 3}
    there = sparsify(read_edges(path), **arguments, scheduler=cluster.scheduler_address)
    here = sparsify(read_edges(path), **arguments, tree="guided")
    for name in ("tail", "head", "weight", "ids"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


def test_a_graph_in_memory_is_sent_without_a_word(cluster):
    """Four parts of 4 MB; Dask would warn of tasks that take 10 MB, and warnings are errors."""
    ends = np.random.default_rng(12).integers(300, size=(2, 700_000))
    graph = EdgeList(tail=ends[0], head=(ends[0] + 1 + ends[1] % 299) % 300, n_nodes=300)
    arguments = {"n_edges": 2_000, "n_parts": 4, "random_state": 3}
    there = sparsify(graph, **arguments, scheduler=cluster.scheduler_address)
    np.testing.assert_array_equal(there.weight, sparsify(graph, **arguments, tree="auto").weight)


def test_a_solve_whose_products_workers_add_up(cluster, folder):
    """The sparsifier and every product come from there, to the bytes of this process."""
    found = []
    for where in ({}, {"scheduler": cluster.scheduler_address}):
        options = {"n_edges": 3_000, "n_parts": 4, "tol": 1e-3, "random_state": 3}
        solver = StreamedSolver(read_edges(folder), **options, **where)
        b = np.cos(np.arange(300))
        found.append((solver.solve(b - b.mean()).tobytes(), solver.n_passes_))
    assert found[0] == found[1]


@pytest.mark.slow
def test_killing_workers_twice_changes_nothing(cluster, folder):
    pieces = split(read_edges(folder), 8)
    victims = []

    def kill(n_leaves, fraction, note):
        """After the first and the fourth part; what the process has done so far is lost."""
        if len(victims) < 2 and n_leaves >= (1, 4)[len(victims)]:
            alive = {nanny.pid for nanny in cluster.workers.values() if nanny.pid}
            victims.append(min(alive - set(victims)))
            os.kill(victims[-1], signal.SIGKILL)

    with open_backend(scheduler=cluster.scheduler_address) as backend:
        there = grow_tree(pieces, settings=SETTINGS, seed=6, backend=backend, progress=kill)
    assert len(set(victims)) == 2
    assert there.run.result == grow_tree(pieces, settings=SETTINGS, seed=6).run.result


@pytest.mark.slow
def test_dictionaries_run_on_the_same_trees(cluster):
    X = clusters(600)
    settings = {"kernel_params": {"gamma": 0.5}, "random_state": 21, "batch_size": 64}
    for size in ({"n_copies": 6}, {"n_landmarks": 30}):
        sampler = SQUEAK(**settings, **size, tree="balanced")
        here = [sampler.fit(X).indices_, sampler.weights_]
        sampler.set_params(scheduler=cluster.scheduler_address)
        there = [sampler.fit(X).indices_, sampler.weights_]
        np.testing.assert_array_equal(here, there)


def test_a_corrupt_part_is_named_and_nothing_is_written(cluster, tmp_path, capsys):
    for number in range(4):
        path = tmp_path / f"part{number}.parquet"
        write_edges(sources.erdos_renyi(100, 5_000, random_state=number), path)
    path = tmp_path / "part2.parquet"
    data = bytearray(path.read_bytes())
    data[100:4000] = bytes(3900)
    path.write_bytes(data)
    out = tmp_path / "out"
    out.mkdir()
    where = ["--scheduler", cluster.scheduler_address, "--parts", "4"]
    arguments = ["sparsify", str(tmp_path / "part*"), "--n-edges", "900", *where]
    assert run([*arguments, "-o", str(out / "sparse.tsv")]) == 2
    assert "part2.parquet" in capsys.readouterr().err
    assert list(out.iterdir()) == []


@pytest.mark.slow
def test_a_scheduler_in_another_process_by_its_address(folder, tmp_path):
    """As on a cluster: a scheduler and a worker that nobody here has started or can see into."""
    about = tmp_path / "scheduler.json"
    quiet = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "stderr": subprocess.DEVNULL}
    both = ["--no-dashboard", "--scheduler-file", str(about)]
    programs = {"dask_scheduler": ["--port", "0"], "dask_worker": ["--nthreads", "1", "--no-nanny"]}
    processes = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *own, *both], **quiet)
        for name, own in programs.items()
    ]
    try:
        with distributed.Client(scheduler_file=str(about), timeout="30s") as client:
            client.wait_for_workers(1, timeout=30)
            address = client.scheduler.address
        assert address.startswith("tcp://")
        there, here = tmp_path / "there.tsv", tmp_path / "here.tsv"
        same = ["sparsify", str(folder), "--keep", "0.02", "--seed", "4", "--parts", "4", "--quiet"]
        assert run([*same, "--scheduler", address, "-o", str(there)]) == 0
        assert run([*same, "--tree", "guided", "-o", str(here)]) == 0
        assert there.read_bytes() == here.read_bytes()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_own_workers_end_with_the_run(folder):
    arguments = {"n_edges": 3_000, "n_parts": 3, "random_state": 8}
    before = set(multiprocessing.active_children())
    there = sparsify(read_edges(folder), **arguments, workers=1)
    here = sparsify(read_edges(folder), **arguments, tree="guided")
    np.testing.assert_array_equal(there.weight, here.weight)
    assert set(multiprocessing.active_children()) <= before


def _write_and_wait(folder, item, seed):
    """When each was begun; the first leaf waits for the last."""
    began = time.time()
    (folder / str(item)).touch()
    while item == 0 and not (folder / "7").exists() and time.time() < began + 20:
        time.sleep(0.01)
    return [(began, item)]


def _join(results, seed):
    return list(chain(*results))


def test_no_leaf_waits_behind_another_one(tmp_path):
    """While one worker is busy with the first, the other one does the rest, in order."""
    leaf = partial(_write_and_wait, tmp_path)
    with open_backend(workers=2) as backend:
        tree = as_tree("balanced", 8)
        begun = run_tree(tree, leaf, _join, range(8), seed=1, backend=backend).result
    assert [item for _, item in sorted(begun) if item] == list(range(1, 8))


def _die(item, seed):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_its_workers_is_given_up(cluster, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with (
        open_backend(scheduler=cluster.scheduler_address) as backend,
        pytest.raises(InputError, match=r"task .* killed 1 workers"),
    ):
        run_tree(as_tree("balanced", 1), _die, _die, [0], seed=1, backend=backend)


def test_a_cluster_with_another_version_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(backends, "__version__", "9.9")
    with (
        pytest.raises(InputError, match=r"has graphsqueak \d.*, this is 9.9; install the same"),
        open_backend(scheduler=cluster.scheduler_address),
    ):
        pass


def test_what_cannot_work_is_said_at_once(monkeypatch):
    monkeypatch.setenv(TIMEOUT_VARIABLE, "1")
    with (
        pytest.raises(InputError, match="workers, to start them here, or scheduler"),
        open_backend(workers=1, scheduler="tcp://127.0.0.1:9"),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 \("),
        open_backend(scheduler="tcp://127.0.0.1:9"),
    ):
        pass


def test_without_dask_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'graphsqueak\[distributed\]'"):
        sparsify(sources.complete(5).to_edge_list(), n_edges=4, workers=1)
