"""Every notebook runs from top to bottom, and is stored with the outputs of a run."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 9


@pytest.fixture(scope="module")
def kernel():
    """One process for all: what takes long are imports and compiled code, not the notebooks."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=os.environ | {"PYTHONPATH": paths})
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the machinery that runs notebooks, not of ours
def test_it_runs(path, tmp_path, kernel):
    notebook = nbformat.read(path, as_version=4)
    stored = [kinds(cell) for cell in notebook.cells]
    begin = f"%reset -f\n%cd -q {tmp_path}\nimport matplotlib as _m; _m.rcdefaults(); del _m"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(begin))  # nothing of the one before is left
    client = NotebookClient(notebook, km=kernel, timeout=90)
    client.execute()
    client.kc.stop_channels()
    assert [kinds(cell) for cell in notebook.cells[1:]] == stored


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_with_outputs_and_without_paths_or_warnings(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in kinds(cell) for cell in code)
    assert not any("stderr" in kinds(cell) for cell in code)
    assert not re.search(r"/(home|tmp|work|Users|opt)/", path.read_text())


def kinds(cell):
    """What a cell puts out: streams by name, results by their types."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found += [output.name] * (found[-1:] != [output.name])  # it may come in pieces
        else:
            found += sorted(output.get("data", {}))
    return found
