"""The package as a newcomer meets it: imports, signatures, types, shipped data."""

import hashlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import graphsqueak
from graphsqueak._lazy import tables_of_contents

ROOT = Path(__file__).parent.parent
HEAVY = ("dask", "matplotlib", "networkx", "pandas", "polars", "pyamg", "pyarrow", "sklearn")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("module", ["graphsqueak", "graphsqueak.cli", "graphsqueak.sources.tables"])
def test_importing_is_light(module):
    loaded = python(f"import sys, {module}; print(*sys.modules)").stdout.split()
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}


def test_help_loads_no_numerics():
    code = "import sys; from graphsqueak.cli import run; run(['--help']); print(*sys.modules)"
    loaded = {name.partition(".")[0] for name in python(code).stdout.split()}
    assert not {"numba", "scipy", *HEAVY} & loaded


def test_every_public_name_is_there_and_documented():
    for name in graphsqueak.__all__:
        assert getattr(graphsqueak, name).__doc__
    assert set(graphsqueak.__all__) <= set(dir(graphsqueak))
    with pytest.raises(AttributeError, match="no attribute 'sparsifyy'"):
        graphsqueak.sparsifyy  # noqa: B018


def test_lazy_names_are_the_plain_functions_themselves():
    """They can be pickled, and help() and inspect see their signatures."""
    code = "import graphsqueak as gs, pickle, inspect; pickle.dumps(gs.sparsify);"
    code += "print(inspect.signature(gs.sparsify))"
    assert python(code).stdout.startswith("(graph")


@pytest.mark.parametrize("package", [*tables_of_contents("graphsqueak"), "graphsqueak.datasets"])
def test_every_public_signature_is_fully_annotated(package):
    module, missing = import_module(package), []
    for name in module.__all__:
        for function, title in functions_of(getattr(module, name), name):
            missing += [f"{title}: {gap}" for gap in unannotated(function)]
    assert not missing


def functions_of(thing, name):
    """A function itself; of a class its `__init__` and public methods, inherited ones too."""
    if inspect.isfunction(thing):
        yield thing, name
    if not inspect.isclass(thing):
        return
    for attribute in dir(thing):
        if attribute.startswith("_") and attribute != "__init__":
            continue
        method = inspect.getattr_static(thing, attribute)
        method = getattr(method, "fget", None) or getattr(method, "__func__", method)
        if inspect.isfunction(method) and method.__module__.startswith("graphsqueak"):
            yield method, f"{name}.{attribute}"


def unannotated(function):
    """Names of parameters without a type, and "return"."""
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.annotation is parameter.empty and parameter.name not in ("self", "cls"):
            yield parameter.name
    if signature.return_annotation is signature.empty and function.__name__ != "__init__":
        yield "return"


@pytest.mark.slow
def test_type_checkers_see_the_lazy_names(tmp_path):
    script = tmp_path / "user.py"
    script.write_text(
        "import graphsqueak as gs\n"
        "from graphsqueak.kernel import SQUEAK\n"
        "graph = gs.EdgeList.from_pairs([(0, 1)])\n"
        "reveal_type(graph)\n"
        "reveal_type(gs.sparsify(graph, n_edges=1))\n"
        "reveal_type(SQUEAK())\n"
        "gs.sparsifyy\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", script.name],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    edge_list = "graphsqueak.graph.edge_list.EdgeList"
    found = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert found == [edge_list, edge_list, "graphsqueak.kernel.samplers.squeak.SQUEAK"]
    assert re.findall(r"error: ([^;]*?)(?:;.*?)?  ", done.stdout) == [
        'Module has no attribute "sparsifyy"'
    ]


def test_nothing_that_must_be_compiled_by_the_user_is_required():
    """scikit-sparse, the usual way to CHOLMOD, does not install from pip everywhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = " ".join(project["dependencies"]).lower()
    assert not [
        name for name in ("sparse==", "scikit-sparse", "cholmod", "petsc") if name in required
    ]


def test_shipped_files_match_their_checksums():
    rows = re.findall(r"^\| `([\w.-]+)` .*`([0-9a-f]{64})` \|$", readme("datasets"), re.MULTILINE)
    assert {name for name, _ in rows} == {
        path.name for path in (ROOT / "datasets").iterdir() if path.name != "README.md"
    }
    for name, checksum in rows:
        assert hashlib.sha256((ROOT / "datasets" / name).read_bytes()).hexdigest() == checksum


def readme(folder):
    return (ROOT / folder / "README.md").read_text()
