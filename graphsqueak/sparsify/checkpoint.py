"""Checkpoints: the whole state of a stream in one file, read back without pickle.

A checkpoint is an Arrow stream (`graphsqueak.trees.packing`) whose metadata hold a JSON record
(format, version, settings, options, counters) and a checksum, and whose single row holds

    tail, head, weight, copies, pinned      the kept edges
    degree, parent                          per node: exact degree, union-find
    probe_table                             weights of random cuts
    judge_*                                 the filter of the last shrink, if there is one
    ids, or ids_text and ids_end            the user's ids: integers, or UTF-8 text and its ends

It is written beside its place and renamed, so that a stop never leaves half of one. What travels
between the workers of a merge tree is the same stream of bytes.
"""

from dataclasses import asdict

from graphsqueak.sparsify.numbering import Numbering
from graphsqueak.sparsify.options import StreamOptions
from graphsqueak.sparsify.probes import Probes
from graphsqueak.sparsify.reconciling import pack_ids, unpack_ids
from graphsqueak.sparsify.state_check import check_state
from graphsqueak.trees.packing import unpack
from graphsqueak.validation import InputError

__all__ = ["FORMAT", "as_state", "from_state", "is_checkpoint"]

FORMAT = "graphsqueak stream"
VERSION = 4
_MARK = FORMAT.encode()


def as_state(settings, options, engine, numbering, probes, *, note):
    """Record and arrays of a stream."""
    arrays, numbers = engine.state()
    record = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings,
        "options": asdict(options),
        "numbers": numbers,
        "note": note,
    }
    ids = pack_ids(numbering.ids, engine.n_nodes)
    return record, arrays | {"probe_table": probes.table} | ids


def from_state(data, name, make):
    """Make the stream that bytes hold, by make(options=, **settings), and restore its engine.

    Returns
    -------
    stream, numbering, probes, note
    """
    try:
        record, arrays = unpack(data, name)
    except InputError as error:
        raise InputError(
            f"{name} is no complete checkpoint ({error}); start the run again without it"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{name} is not a checkpoint of graphsqueak sparsify")
    if record.get("version") != VERSION:
        raise InputError(
            f"{name} is a checkpoint of version {record.get('version')}, this program reads "
            f"{VERSION}; start the run again, or use the program that wrote it"
        )
    try:
        options = StreamOptions(**record["options"])
        stream, engine = make(**record["settings"], options=options)
        check_state(arrays, record["numbers"], wanted=engine.state()[1])
        note = dict(record["note"])
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds no state of a stream ({error}); start the run again without it"
        ) from None
    engine.restore((arrays, record["numbers"]))
    probes = Probes(arrays["probe_table"], engine.n_nodes)
    return stream, Numbering(unpack_ids(arrays)), probes, note


def is_checkpoint(path):
    """Whether a file on disk begins as a checkpoint does."""
    with open(path, "rb") as file:
        return _MARK in file.read(1024)
