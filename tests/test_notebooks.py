"""Every notebook runs from top to bottom, prints the stored numbers and draws the stored figures.

Notebooks run without network access, so that those that download data use their generated data. To
run them again and store the new outputs: `python -m tests.test_notebooks [NAME ...]`.
"""

import base64
import io
import json
import os
import re
import sys
import tempfile
from importlib import import_module
from itertools import zip_longest
from pathlib import Path

import nbformat
import numpy as np
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tests.test_docs import COMMANDS, commands_of

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Rounding in sums differs between processors and versions of BLAS, and random samples amplify it.
RTOL = 0.05
# A proxy that refuses connections: downloads fail at once, with and without a network.
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
# Numbers in these cells, such as memory, depend on the machine.
MEASURED = "measured"
# Figures are compared by the ink of each color: the fraction of pixels and their mean position.
# Fonts of other versions of matplotlib change the fraction by a few percent, and data that change
# by `RTOL` move the mean position by about as much.
INK_RTOL = 0.2
INK_SHIFT = 0.05
# Smallest difference of two color channels in colored pixels. Black, gray and white have none.
MIN_COLOR = 25
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 7


def start_kernel():
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=os.environ | OFFLINE | {"PYTHONPATH": paths})
    return manager


@pytest.fixture(scope="module")
def kernel():
    """One process for all notebooks: most of their time is for imports and compiled code."""
    manager = start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def execute(notebook, folder, kernel):
    """Run all cells in a folder, without variables and settings of an earlier notebook."""
    begin = f"%reset -f\n%cd -q {folder}\nimport matplotlib as _m; _m.rcdefaults(); del _m"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(begin))
    client = NotebookClient(notebook, km=kernel, timeout=600)
    client.execute()
    client.kc.stop_channels()
    notebook.cells.pop(0)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the libraries that run notebooks
def test_a_run_prints_the_stored_numbers_and_figures(path, tmp_path, kernel):
    stored = nbformat.read(path, as_version=4)
    run = nbformat.from_dict(stored)
    execute(run, tmp_path, kernel)
    changes = [
        f"cell {number}: {change}"
        for number, (before, after) in enumerate(zip(stored.cells, run.cells, strict=True))
        for change in output_changes(before, after)
    ]
    assert changes == [], f"if this is intended: python -m tests.test_notebooks {path.stem}"


def output_changes(before, after):
    """One line per difference between the outputs of a stored cell and those of a run."""
    if output_types(before) != output_types(after):
        yield f"{output_types(before)} -> {output_types(after)}"
    is_measured = MEASURED in before.metadata.get("tags", ())
    for old, new in zip_longest(printed_lines(before), printed_lines(after), fillvalue=""):
        words = [" ".join(NUMBER.sub("#", line).split()) for line in (old, new)]
        numbers = [NUMBER.findall(line) for line in (old, new)]
        is_same = words[0] == words[1] and (is_measured or all(map(is_close, *numbers)))
        if not is_same:
            yield f"{old!r} -> {new!r}"
    if not is_measured:
        for old, new in zip(figures(before), figures(after), strict=False):
            yield from figure_changes(old, new)


def figures(cell):
    """Return the figures of a cell as PNG files."""
    images = [output.get("data", {}).get("image/png") for output in cell.get("outputs", ())]
    return [base64.b64decode(image) for image in images if image is not None]


def figure_changes(before, after):
    """One line per color whose ink differs between two figures."""
    ink_after = ink(after)
    for name, old in ink(before).items():
        new = ink_after[name]
        is_less_or_more = abs(new[0] - old[0]) > INK_RTOL * max(old[0], 0.001)
        has_moved = old[0] > 0 and max(abs(new[1] - old[1]), abs(new[2] - old[2])) > INK_SHIFT
        if is_less_or_more or has_moved:
            yield f"{name} ink of a figure: {old.round(4)} -> {new.round(4)}"


def ink(png):
    """Return, by color, the fraction of pixels, and the mean x and y of these, from 0 to 1."""
    from matplotlib.image import imread

    red, green, blue = np.moveaxis(255 * imread(io.BytesIO(png))[:, :, :3], 2, 0)
    masks = {
        "blue": blue - red > MIN_COLOR,
        "red": red - blue > MIN_COLOR,
        "dark": (green < 200) & (abs(blue - red) <= MIN_COLOR),
    }
    amounts = {}
    for name, mask in masks.items():
        rows, columns = np.nonzero(mask)
        x = columns.mean() / mask.shape[1] if columns.size else 0.0
        y = rows.mean() / mask.shape[0] if rows.size else 0.0
        amounts[name] = np.array([mask.mean(), x, y])
    return amounts


def is_close(before, after):
    """Whether two printed numbers differ by less than `RTOL` or one unit of the last digit.

    >>> is_close("1,000", "1,049"), is_close("1,000", "1,051"), is_close("0.3", "0.4")
    (True, False, True)
    """
    decimals = len(before.partition(".")[2])
    old, new = (float(number.replace(",", "")) for number in (before, after))
    return abs(old - new) <= max(RTOL * abs(old), 1.01 * 10**-decimals)


def printed_lines(cell):
    """Text that a cell prints and shows; figures have none."""
    text = ""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            text += output.text
        elif "image/png" not in output.data:
            text += output.data.get("text/plain", "") + "\n"
    return text.splitlines()


def output_types(cell):
    """Types of the outputs of a cell: streams by name, results by their media types."""
    found = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            # A stream may arrive in pieces.
            found += [output.name] * (found[-1:] != [output.name])
        else:
            found += sorted(output.get("data", {}))
    return found


def test_changed_numbers_and_words_are_changes():
    def cell(text, **metadata):
        output = nbformat.v4.new_output("stream", text=text)
        return nbformat.v4.new_code_cell(outputs=[output], metadata=metadata)

    stored = cell("kept 0.50 of 1,000 edges\nbest: graph\n")
    assert not list(output_changes(stored, cell("kept 0.51 of  1,020 edges\nbest: graph\n")))
    assert len(list(output_changes(stored, cell("kept 0.56 of 1,000 edges\nbest: graph\n")))) == 1
    assert len(list(output_changes(stored, cell("kept 0.50 of 1,000 edges\nbest: rule\n")))) == 1
    assert len(list(output_changes(stored, cell("kept 0.50 of 1,000 edges\n")))) == 1
    measured = cell("peak 300 MB\n", tags=[MEASURED])
    assert not list(output_changes(measured, cell("peak 900 MB\n")))
    assert len(list(output_changes(measured, cell("900 MB\n")))) == 1


def test_changed_curves_are_changes():
    from matplotlib.figure import Figure

    def chart(*curves, labels_size=10):
        drawn = Figure(figsize=(7, 3.4), dpi=80, layout="constrained")
        axes = drawn.subplots()
        for values, color in curves:
            axes.plot(values, color=color)
        axes.set(ylim=(0, 1), xlabel="edges kept")
        axes.xaxis.label.set_size(labels_size)
        file = io.BytesIO()
        drawn.savefig(file)
        return file.getvalue()

    ours = (np.linspace(0, 0.5, 50), "#4477aa")
    baseline = (np.linspace(0, 0.9, 50), "#cc6677")
    stored = chart(ours, baseline)
    assert not list(figure_changes(stored, chart(ours, baseline, labels_size=11)))
    slightly_larger = (np.linspace(0, 0.52, 50), "#4477aa")
    assert not list(figure_changes(stored, chart(slightly_larger, baseline)))
    larger = (np.linspace(0.2, 0.7, 50), "#4477aa")
    assert len(list(figure_changes(stored, chart(larger, baseline)))) == 1
    assert len(list(figure_changes(stored, chart(ours)))) == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_with_outputs_and_without_paths_or_warnings(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in output_types(cell) for cell in code)
    assert not any("stderr" in output_types(cell) for cell in code)
    assert not re.search(r"/(home|tmp|work|Users|opt)/", path.read_text())
    assert path.stat().st_size < 500_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_begins_with_gain_time_and_what_to_change(path):
    opening = nbformat.read(path, as_version=4).cells[0].source
    _, gain, rest = opening.split("\n\n", maxsplit=2)
    assert gain.startswith("You ")
    assert re.findall(r"^\* \*\*(.+):\*\* ", rest, re.MULTILINE) == ["Run time", "What to change"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_uses_public_names_only(path):
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "import graphsqueak as gs" in code
    assert "from graphsqueak" not in code
    for package, name in set(re.findall(r"\bgs\.(\w+)(?:\.(\w+))?", code)):
        assert package in import_module("graphsqueak").__all__
        if name and package.islower():
            public = getattr(import_module("graphsqueak"), package)
            assert name in getattr(public, "__all__", [name]), f"gs.{package}.{name}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_files_and_commands_that_it_names_exist(path):
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    addresses = re.findall(r"\]\(([^)#]+)", text)
    assert [a for a in addresses if "://" not in a and not (path.parent / a).exists()] == []
    for name, *words in commands_of(text):
        known = {option for one in COMMANDS[name].params for option in one.opts}
        assert {word for word in words if word.startswith("-")} <= known


def store(path):
    """Run a notebook and replace its outputs."""
    notebook = nbformat.read(path, as_version=4)
    kernel = start_kernel()
    try:
        with tempfile.TemporaryDirectory() as folder:
            execute(notebook, folder, kernel)
    finally:
        kernel.shutdown_kernel(now=True)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.metadata.pop("execution", None)
        cell.execution_count = count
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    nbformat.write(notebook, path)


def merge_streams(outputs):
    """Join pieces of one stream, whose number depends on the clock."""
    merged = []
    for output in outputs:
        if output.output_type == "stream" and merged and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


if __name__ == "__main__":
    for notebook_path in NOTEBOOKS:
        if not sys.argv[1:] or notebook_path.stem in sys.argv[1:]:
            store(notebook_path)
