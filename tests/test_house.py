"""The rules of the house: sizes of folders and modules, who imports whom, layers everywhere."""

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import grimp
import pytest
import typer

from graphsqueak._lazy import tables_of_contents
from graphsqueak.cli import app

ROOT = Path(__file__).parent.parent
MODULES = sorted(ROOT.glob("graphsqueak/**/*.py"))
MOST_MODULES, MOST_LINES = 16, 350

# Private modules that have a single importer and yet stand alone: kernels and formats.
ALONE = {
    "graphsqueak.graph.exchange": "formats of other libraries",
    "graphsqueak.nodes.sides": "kernel that puts names before ids",
    "graphsqueak.outofcore.checkpoint": "a format",
    "graphsqueak.solvers.approximate_cholesky": "a backend: kernels of its sweeps",
    "graphsqueak.solvers.chebyshev": "kernel of the filter of eigenvectors",
    "graphsqueak.solvers.elimination": "kernels of the approximate Cholesky factor",
    "graphsqueak.solvers.multigrid": "a backend, as formats are",
    "graphsqueak.sources.files.scan": "kernels that read lines",
    "graphsqueak.sources.distinct": "kernel and file of distinct edges",
    "graphsqueak.sources.pairs.cliques": "kernels of cliques",
    "graphsqueak.sources.pairs.pair_log": "kernels and file of pairs by attribute",
    "graphsqueak.sources.neighbors.search": "kernels of the neighbor search",
    "graphsqueak.sources.table_files": "formats of tables",
    "graphsqueak.sparsifiers.stream.engine": "an engine, as formats are",
    "graphsqueak.sparsifiers.stream.last_shrink": "kernels of calibration",
    "graphsqueak.ssl.features.targets": "classes and values, as formats are",
    "graphsqueak.sparsifiers.stream.ring": "the engine of streams with times",
    "graphsqueak.ssl.label_stream": "a way to read edges, as formats are",
    "graphsqueak.ssl.tally": "the sums at labeled nodes, apart from what is done with them",
}


@cache
def import_graph():
    """Who imports whom, imports inside functions too."""
    return grimp.build_graph("graphsqueak", cache_dir=None)


def importers(module):
    return import_graph().find_modules_that_directly_import(module)


def packages():
    return {m for m in import_graph().modules if import_graph().find_children(m)}


def public_modules():
    """Those named in a table of contents, commands, packages and __main__."""
    tables = tables_of_contents("graphsqueak")
    homes = {f"{p}.{home or name}" for p in tables for name, home in tables[p].items()}
    commands = {c.callback.__module__ for c in typer.main.get_command(app).commands.values()}
    return homes | commands | packages() | {"graphsqueak.__main__"}


def test_no_folder_has_too_many_modules():
    folders = [path.parent.relative_to(ROOT).as_posix() for path in MODULES]
    counts = {folder: folders.count(folder) for folder in folders}
    assert not {folder: n for folder, n in counts.items() if n > MOST_MODULES}


def test_no_module_is_too_long():
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    too_long = {path: n for path, n in lengths.items() if n > MOST_LINES}
    assert not {path.relative_to(ROOT).as_posix(): n for path, n in too_long.items()}


def test_kernels_are_compiled_in_one_place():
    """There it is decided where compiled code is kept, and when parallel code is worth its time."""
    found = [path for path in (ROOT / "graphsqueak").rglob("*.py") if "njit" in path.read_text()]
    assert found == [ROOT / "graphsqueak/system/kernels.py"]


def test_no_private_module_has_a_single_importer():
    private = sorted(import_graph().modules - public_modules() - set(ALONE))
    lonely = [f"{m}, for {min(importers(m))}" for m in private if len(importers(m)) == 1]
    assert not lonely, "\n".join(["belongs inside its only importer:", *lonely])


def test_what_may_stand_alone_is_there_and_has_a_single_importer():
    assert set(ALONE) <= import_graph().modules
    assert {module: len(importers(module)) for module in ALONE} == dict.fromkeys(ALONE, 1)


def test_every_package_with_packages_inside_has_layers():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    exhaustive = [c for c in contracts if c["type"] == "layers" and c["exhaustive"]]
    layered = {container for contract in exhaustive for container in contract["containers"]}
    inner = {p for p in packages() if import_graph().find_children(p) & packages()}
    assert inner <= layered
    assert not any("ignore_imports" in contract for contract in contracts)


WALK = """
import inspect, sys
import numpy as np, scipy.sparse
import graphsqueak as gs
from graphsqueak.cli import run

files = set()

def note(frame, event, argument):
    code, caller = frame.f_code, frame.f_back
    if event != "call" or "/graphsqueak/" not in code.co_filename:
        return
    if not code.co_flags & inspect.CO_OPTIMIZED:  # a class or a module, not a function
        return
    while caller is not None and caller.f_code.co_name != "<module>":
        caller = caller.f_back
    if caller is None or caller.f_globals["__name__"] == "__main__":  # not called by an import
        files.add(code.co_filename)

rng = np.random.default_rng(5)
ends = rng.integers(300, size=(60_000, 2))
np.savetxt("edges.tsv", ends, fmt="%d", delimiter="\\t")
with open("labels.csv", "w") as file:
    file.write("node,label\\n" + "".join(f"{node},{'ab'[node % 2]}\\n" for node in range(20)))
upper = scipy.sparse.coo_array((np.ones(len(ends)), ends.T), shape=(300, 300)).tocsr()
adjacency, y = upper + upper.T, np.full(300, -1)
y[:20] = np.arange(20) % 2
classifier = gs.SparseHFSClassifier(n_edges=3000, random_state=7)
sys.setprofile(note)
if sys.argv[1] == "fit":
    classifier.fit(adjacency, y)
else:
    words = {"sparsify": ["edges.tsv"], "label": ["edges.tsv", "labels.csv"]}[sys.argv[1]]
    assert run([sys.argv[1], *words, "-o", "out.csv", "--keep", "0.05"]) == 0
sys.setprofile(None)
print(len(files))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("walk", "most"), [("sparsify", 38), ("fit", 35), ("label", 47)])
def test_a_walk_crosses_few_files(walk, most, tmp_path):
    """Files in which some function is called, from argv, or from `fit`, to the result."""
    done = subprocess.run(
        [sys.executable, "-c", WALK, walk],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[-1]) <= most
