"""Structure of the package: kernels are compiled in one module, imports follow layers."""

import re
import tomllib
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent


@cache
def import_graph():
    """Return the import graph, including imports inside functions."""
    return grimp.build_graph("graphsqueak", cache_dir=None)


def packages():
    return {m for m in import_graph().modules if import_graph().find_children(m)}


def test_kernels_are_compiled_in_one_place():
    """There it is decided where compiled code is kept, and when parallel code is worth its time."""
    sources = (ROOT / "graphsqueak").rglob("*.py")
    found = [path for path in sources if re.search(r"\bnjit\b", path.read_text())]
    assert found == [ROOT / "graphsqueak/system/kernels.py"]


def test_every_package_with_packages_inside_has_layers():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    exhaustive = [c for c in contracts if c["type"] == "layers" and c["exhaustive"]]
    layered = {container for contract in exhaustive for container in contract["containers"]}
    inner = {p for p in packages() if import_graph().find_children(p) & packages()}
    assert inner <= layered
    assert not any("ignore_imports" in contract for contract in contracts)
