"""The package works where modules and calls of POSIX systems are missing, as on Windows."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Modules that other systems lack are hidden from graphsqueak only: Python's own modules choose
# between platforms by themselves.
HIDE = """
    import builtins
    import ctypes
    import os

    # Libraries that read them when they are imported.
    import joblib, numba, polars, psutil, pyarrow, scipy.sparse

    MISSING = {"fcntl", "resource", "select", "pwd", "termios"}
    real_import = builtins.__import__

    def import_portable(name, globals=None, *arguments, **options):
        importer = (globals or {}).get("__name__", "")
        if importer.startswith("graphsqueak") and name in MISSING:
            raise ImportError(f"{importer} imports {name}")
        return real_import(name, globals, *arguments, **options)

    class NamedLibrary(ctypes.CDLL):
        def __init__(self, name, *arguments, **options):
            if name is None:
                raise TypeError("a library needs a name")
            super().__init__(name, *arguments, **options)

    builtins.__import__ = import_portable
    ctypes.CDLL = NamedLibrary
    for name in ("sysconf", "fork", "pathconf", "O_NONBLOCK", "O_CLOEXEC"):
        delattr(os, name)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the edges of two groups and a label in each."""
    folder = tmp_path_factory.mktemp("portable")
    edges = [(u + base, v + base) for base in (0, 20) for u in range(20) for v in range(u)]
    lines = [f"{u}\t{v}\n" for u, v in [*edges, (0, 20)]]
    (folder / "edges.tsv").write_text("source\ttarget\n" + "".join(lines))
    (folder / "labels.csv").write_text("node,label\n1,left\n21,right\n")
    return folder


def run(folder, code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HIDE) + textwrap.dedent(code)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_commands_need_no_posix_modules(files):
    printed = run(
        files,
        """
        from graphsqueak.cli import run
        import sys

        for command in (
            "sparsify edges.tsv -o sparse.tsv --keep 0.5 --seed 7 --force --checkpoint run.ckpt",
            "certify edges.tsv sparse.tsv --seed 7",
            "label edges.tsv labels.csv -o labeled.csv --seed 7 --force",
            "info edges.tsv",
        ):
            sys.argv = ["graphsqueak", *command.split()]
            assert run() == 0, command
        """,
    )
    assert "epsilon_upper" in printed
    assert (files / "labeled.csv").read_text().count("left") == 20
    assert not list(files.glob(".*.part"))


def test_memory_is_known_without_proc_and_resource(tmp_path):
    printed = run(
        tmp_path,
        """
        from types import SimpleNamespace
        from pathlib import Path
        from graphsqueak.system import memory

        def no_such_file(path, mode):
            raise FileNotFoundError(path)

        # As on Windows: no /proc, and psutil reports the peak of the working set.
        Path.exists = lambda self: False
        memory.open = no_such_file
        usage = SimpleNamespace(peak_wset=2**20)
        psutil.Process = lambda: SimpleNamespace(memory_info=lambda: usage)
        print(memory.peak_rss(), memory.available_memory() > 2**20)
        """,
    )
    assert printed == "1048576 True\n"


def test_a_pipe_is_followed_without_select(tmp_path):
    printed = run(
        tmp_path,
        """
        from graphsqueak.sources import follow_edges

        reader, writer = os.pipe()
        os.write(writer, b"ann bob\\nbob cy\\n")
        os.close(writer)
        with open(reader, "rb") as pipe:
            print(sum(batch.n_edges for batch in follow_edges(pipe)))
        """,
    )
    assert printed == "2\n"


def test_outputs_are_replaced_where_open_files_cannot_be(tmp_path):
    printed = run(
        tmp_path,
        """
        from pathlib import Path
        from graphsqueak.system import atomic

        real_replace = os.replace

        def replace(source, target):
            assert file.closed, "Windows does not rename an open file"
            real_replace(source, target)

        os.replace = replace
        for content in (b"1", b"2"):
            with atomic.atomic_file("out") as file:
                file.write(content)
        print(Path("out").read_text(), [path.name for path in Path().iterdir()])
        """,
    )
    assert printed == "2 ['out']\n"
