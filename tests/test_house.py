"""Structure of the package: kernels are compiled in one module, imports follow layers."""

import ast
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


CORE = ("sparsifiers", "solvers", "graph", "nodes", "trees", "system")
# Attributes of classes of numpy that are called like attributes of the package.
OF_NUMPY = {"generator.bit_generator.state"}


def class_attributes(tree):
    """Return the bases of every class of a module, and the attributes that it declares or sets."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            declared = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            assigned = {ast.unparse(target) for target in stored(node)}
            own = {name.removeprefix("self.") for name in assigned if name.startswith("self.")}
            found[node.name] = ({ast.unparse(base) for base in node.bases}, declared | own)
    return found


def stored(tree):
    """Return the attributes, such as `state.filter`, that some code assigns to."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return [node for node in nodes if isinstance(node.ctx, ast.Store)]


def foreign_writes(modules):
    """Return assignments to attributes of classes that are neither of this module nor bases of its.

    `modules` are the sources by name.
    """
    trees = {name: ast.parse(source) for name, source in modules.items()}
    classes = {}
    for tree in trees.values():
        classes |= class_attributes(tree)
    known = set().union(*(attributes for _, attributes in classes.values()))
    found = []
    for name, tree in trees.items():
        own = set()
        waiting = list(class_attributes(tree))
        while waiting:
            bases, attributes = classes.get(waiting.pop(), ((), set()))
            own |= attributes
            waiting += bases
        found += [
            f"{name}:{target.lineno} {ast.unparse(target)}"
            for target in stored(tree)
            if target.attr in known - own and ast.unparse(target) not in OF_NUMPY
        ]
    return found


def test_no_module_of_the_core_writes_attributes_of_other_classes():
    """A state has one owner: other modules call its methods."""
    folders = [ROOT / "graphsqueak" / name for name in CORE]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert not foreign_writes({str(path.relative_to(ROOT)): path.read_text() for path in paths})


def test_foreign_writes_are_found():
    owner = "class State:\n    def __init__(self):\n        self.n_seen = 0\n"
    heir = "class Longer(State):\n    def add(self, other):\n        other.n_seen += 1\n"
    stranger = "def add(state):\n    state.n_seen += 1\n"
    found = foreign_writes({"owner": owner, "heir": heir, "stranger": stranger})
    assert found == ["stranger:2 state.n_seen"]
