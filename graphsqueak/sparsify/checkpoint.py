"""Checkpoints: the whole state of a stream in one file, read back without pickle.

A checkpoint is a NumPy .npz archive (a zip whose members carry checksums) with

    about        JSON: format, version, settings, options, counters
    tail, head, weight, copies, pinned      the kept edges
    degree, parent                          per node: exact degree, union-find
    probe_table                             weights of random cuts
    judge_*                                 the filter of the last shrink, if there is one
    ids, or ids_text and ids_end            the user's ids: integers, or UTF-8 text and its ends

It is written beside its place and renamed, so that a stop never leaves half of one.
"""

import json
import zipfile
from dataclasses import asdict

import numpy as np

from graphsqueak.sources.atomic import atomic_file
from graphsqueak.sparsify.numbering import Numbering
from graphsqueak.sparsify.options import StreamOptions
from graphsqueak.sparsify.probes import Probes
from graphsqueak.validation import InputError

__all__ = ["FORMAT", "read_checkpoint", "write_checkpoint"]

FORMAT = "graphsqueak stream"
VERSION = 2


def write_checkpoint(path, settings, options, engine, numbering, probes):
    """Write settings, options, engine, ids and probes to `path`."""
    arrays, numbers = engine.state()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings,
        "options": asdict(options),
        "numbers": numbers,
    }
    members = {"about": _bytes(json.dumps(about)), "probe_table": probes.table}
    members |= arrays | _packed(numbering, engine.n_nodes)
    with atomic_file(path) as file:
        np.savez(file, **members)


def read_checkpoint(path):
    """Settings, options, engine state, numbering and probes of a checkpoint."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            members = {name: archive[name] for name in archive.files}
        about = json.loads(members.pop("about").tobytes())
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path of the checkpoint") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is no complete checkpoint ({error}); start the run again without it"
        ) from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{path} is not a checkpoint of graphsqueak sparsify")
    if about["version"] != VERSION:
        raise InputError(
            f"{path} is a checkpoint of version {about['version']}, this program reads {VERSION}; "
            "start the run again, or use the program that wrote it"
        )
    options = StreamOptions(**about["options"])
    numbering = _unpacked(members)
    probes = Probes(members["probe_table"], members["degree"].size)
    return about["settings"], options, (members, about["numbers"]), numbering, probes


def _bytes(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _packed(numbering, n_nodes):
    if numbering.ids is None:
        return {}
    ids = np.asarray(numbering.ids)[:n_nodes]
    if ids.dtype.kind in "iu":
        return {"ids": ids}
    texts = [str(name).encode() for name in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"ids_text": np.frombuffer(b"".join(texts), dtype=np.uint8), "ids_end": ends}


def _unpacked(members):
    if "ids" in members:
        return Numbering(members["ids"])
    if "ids_end" not in members:
        return Numbering()
    text, ends = members["ids_text"].tobytes(), members["ids_end"]
    starts = np.concatenate([[0], ends[:-1]])
    ids = np.empty(ends.size, dtype=object)
    ids[:] = [text[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    return Numbering(ids)
