"""Finished leaves of a merge tree in a folder, so that a stopped run does not repeat them.

    run.json          what the leaves belong to: settings, seed, and the parts with their sizes
    part-00003.ckpt   the state of part 3, a checkpoint

A leaf is written, whole or not at all, by the worker that made it: workers and whoever resumes must
see the same folder.
"""

import json
from pathlib import Path
from typing import NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.system.atomic import atomic_file

__all__ = ["LeafStore", "open_store", "stored_seed"]

_RUN = "run.json"


class LeafStore(NamedTuple):
    """Where the leaves of one run lie."""

    folder: str

    def get(self, number):
        """The state of a part, or None if it is not there or damaged."""
        try:
            state = self._path(number).read_bytes()
            StreamSparsifier.from_bytes(state)
        except (FileNotFoundError, InputError):
            return None
        return state

    def put(self, number, state):
        """Keep the state of a part."""
        with atomic_file(self._path(number)) as file:
            file.write(state)

    def count(self):
        """How many leaves are there."""
        return len(list(Path(self.folder).glob("part-*.ckpt")))

    def _path(self, number):
        return Path(self.folder) / f"part-{number:05d}.ckpt"


def open_store(folder, pieces, settings, *, seed, resume):
    """The store of a run: emptied, or, with `resume`, with what an equal run has left."""
    folder = Path(folder).expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; the leaves of a merge tree need a folder")
    run = json.loads(json.dumps({"seed": seed, "settings": settings, "parts": _described(pieces)}))
    folder.mkdir(parents=True, exist_ok=True)
    before = _read(folder)
    if resume and before is not None:
        for name, value in run.items():
            if before.get(name) != value:
                raise InputError(
                    f"{folder} was written with other {name}; resume with the same input and "
                    "options, or leave --resume out to start again"
                )
    else:
        for old in folder.glob("part-*.ckpt"):
            old.unlink()
        with atomic_file(folder / _RUN) as file:
            file.write(json.dumps(run, indent=1).encode())
    return LeafStore(str(folder))


def stored_seed(folder):
    """The seed of the run whose leaves lie in a folder; None if there are none."""
    run = _read(Path(folder).expanduser())
    return None if run is None else run["seed"]


def _read(folder):
    try:
        return json.loads((folder / _RUN).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / _RUN} cannot be read: {error}; remove the folder") from None


def _described(pieces):
    """Name and size of every part: enough to notice another input."""
    rows = []
    for piece in pieces:
        if isinstance(piece, FileSource):
            rows.append([[part.name, part.path.stat().st_size] for part in piece.parts])
        else:
            rows.append([["edges in memory", piece.n_edges]])
    return rows
