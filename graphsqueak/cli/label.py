"""graphsqueak label: labels for all nodes of an edge file from those of a few."""

import itertools
import time
from typing import Annotated, Any, NamedTuple

import typer

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import DryRun, beginning_of_edges, tell_dry_run
from graphsqueak.cli.label_table import read_label_table
from graphsqueak.cli.reading import Edges, Reading, paths_read, reads_edges, tell_understood
from graphsqueak.errors import InputError

__all__ = ["label"]

_OTHERS = {
    "hfs": "HFSClassifier",
    "simple-hfs": "SimpleHFSClassifier",
    "subsampling": "SubsampledHFSClassifier",
    "eigfun": "EigenfunctionClassifier",
    "1nn": "NearestLabelClassifier",
    "poisson": "PoissonClassifier",
}
_OWN = ("sparse-hfs", "stable-hfs")
_METHODS = (*_OWN, *_OTHERS)


@reads_edges
def label(
    edges: Edges,
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="Table with the columns node and label, and maybe weight and truth (csv, tsv, "
            "parquet).",
        ),
    ],
    out: Annotated[
        str, typer.Option("-o", "--out", help="Table to write: .tsv, .csv, .parquet or .arrow.")
    ],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(_METHODS)}.")] = "sparse-hfs",
    eta: Annotated[
        float | None,
        typer.Option(
            help="Larger: follow the neighbors; smaller: the labels (default: by itself)."
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Of sparse-hfs: error of cuts allowed.")
    ] = None,
    n_edges: Annotated[
        int | None, typer.Option("--edges", help="Of sparse-hfs: edges to hold.")
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            parser=options.fraction,
            help="Edges to hold (sparse-hfs only): 0.05 or 5%.",
        ),
    ] = None,
    passes: Annotated[
        str,
        typer.Option(
            metavar="auto|N",
            help="Of sparse-hfs: how often to read the edges at most; 1 is a single read. auto "
            "reads until the labels have settled, up to four times; a pipe once.",
        ),
    ] = "auto",
    window: options.Window = None,
    half_life: options.HalfLife = None,
    sets: Annotated[
        float | None,
        typer.Option(
            help="Write the classes that a node may have, too: the right one is among them with "
            "probability 1 - 2 SETS (0.1, say), if the labeled nodes were drawn at random."
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The class to look for, such as fraud: OUT gets the columns score and flagged."
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(help="Flag so many nodes without a label.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Flag scores from here on.")] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Flag the fewest that should hold this share of the class (calibrates)."),
    ] = None,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="Write a column share_CLASS for every class.")
    ] = False,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Make shares probabilities (from 20 labels on).")
    ] = False,
    force: options.Force = False,
    dry_run: DryRun = False,
    *,
    reading: Reading,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Label every node of a graph from a few labeled ones.

    Nodes that are joined strongly get the same label. OUT has the columns node, label and
    confidence. sparse-hfs reads the edges a few times and never holds them, with the labels of
    stable-hfs on the whole graph; of a pipe, read once, its labels are those of a small part. The
    other methods hold the graph, and of those stable-hfs is the one to take. Nodes that no label
    reaches get the most frequent label and confidence 1 / classes. OUT also has the nodes of LABELS
    without an edge: with their own label and confidence 1, or as unreached. An empty label is none.
    A column weight tells how far a label is trusted: 2 is two labels, 0 is none, nothing is 1. With
    a column truth the accuracy over the nodes without a label is measured. With --sets there is a
    column set, its classes separated by |.

    Example: graphsqueak label edges.tsv.gz labels.csv -o labeled.csv
    """
    import warnings

    from graphsqueak.sources.files.writing import write_columns
    from graphsqueak.sparsifiers.budget import Budget
    from graphsqueak.ssl.base import UnreachedWarning
    from graphsqueak.ssl.decisions.homophily import HomophilyWarning
    from graphsqueak.ssl.evaluation.detection import find_positives
    from graphsqueak.ssl.labels import AbsentLabelsWarning

    began = time.perf_counter()
    options.check_table(out)
    model = _model(method, eta, Budget(n_edges, epsilon, keep), passes, seed)
    if calibrated or recall is not None:
        if method not in _OWN:
            raise InputError("--calibrated and --recall are for sparse-hfs and stable-hfs only")
        model.set_params(calibrated=True)
    if method == "sparse-hfs":
        model.set_params(progress=options.shows_progress(quiet=quiet, as_json=as_json))
    source = reading.open(edges, seed)
    options.check_outputs(
        {"--out": out},
        [*paths_read(edges, source), labels],
        force=force or dry_run,
        quiet=quiet,
        as_json=as_json,
    )
    label_table = read_label_table(labels, ids=reading.ids)
    given, truth, weight, _ = label_table
    if weight and method not in _OWN:
        raise InputError(
            f"{labels} has weights of labels, which are for sparse-hfs and stable-hfs only; take "
            "one of these, or the column weight away"
        )
    recent = _recent(source, model, reading, {"window": window, "half_life": half_life})
    if sets is not None:
        _check_sets(sets, given)
    ways: dict[str, Any] = {"top": top, "min_score": threshold, "recall": recall}
    if positive is None and ways != dict.fromkeys(ways):
        raise InputError("--top, --threshold and --recall need --positive, the class to look for")
    if positive is not None and positive not in set(map(str, given.values())):
        raise InputError(f"--positive {positive} is no class of the labels; check its spelling")
    if dry_run:
        said = f"{labels}: {len(given):,} labels of {len(set(given.values())):,} kinds"
        tell_dry_run([beginning_of_edges(source), said], [out], force=force, as_json=as_json)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", HomophilyWarning)
        warnings.simplefilter("always", AbsentLabelsWarning)
        warnings.simplefilter("ignore", UnreachedWarning)
        model.fit(recent, given, **({"sample_weight": weight} if weight else {}))
    doubts = [str(w.message) for w in told if w.category is not AbsentLabelsWarning]
    absent = _absent_nodes(label_table.nodes, model.ids_)
    # A label of weight 0 is none.
    trusted = {node: value for node, value in given.items() if weight.get(node, 1.0) > 0}
    labeled = _with_absent_nodes(model, absent, trusted)
    confidence = labeled.label_distributions_.max(axis=1)
    table = {"node": labeled.ids_, "label": labeled.transduction_, "confidence": confidence}
    sizes = {} if sets is None else _add_sets(table, model, labeled, sets, given)
    if per_class:
        shares = zip(labeled.classes_.tolist(), labeled.label_distributions_.T, strict=True)
        table |= {f"share_{name}": column for name, column in shares}
    if positive is not None:
        found = find_positives(labeled, positive, known=given, truth=truth, **ways)
        table |= {"score": found[0], "flagged": found[1]}
        sizes |= found[2]
    write_columns(table, out)
    n_absent_labels = int(labeled.reached_[len(model.ids_) :].sum())
    record = {
        "nodes": len(labeled.ids_),
        "labelled": len(given),
        "weighted": len(weight),
        "classes": len(model.classes_),
        "reached": int(labeled.reached_.sum()),
        "homophily": model.homophily_,
        "homophily_error": model.homophily_error_,
        "without_an_edge": len(absent),
        "without_an_edge_or_label": len(absent) - n_absent_labels,
        "warnings": doubts,
        "eta": getattr(model, "eta_", None),
        "edges_read": getattr(model, "n_edges_seen_", source.n_edges_read),
        "edges_used": getattr(model, "n_edges_used_", source.n_edges_read),
        "sums": getattr(model, "n_sums_", 0),
        "passes": getattr(model, "n_passes_", 1),
        "undecided": getattr(model, "n_undecided_", 0),
        "seconds": time.perf_counter() - began,
        "method": method,
        "seed": seed,
        **sizes,
    }
    record["input"] = tell_understood(source, quiet=quiet)
    if truth:
        record["accuracy"] = _accuracy(labeled, given, truth)
    if as_json:
        options.print_json(record)
        return
    for doubt in doubts:
        options.print_line(f"warning: {doubt}", on_stderr=True)
    if absent and not quiet:
        said = _note_on_absent(labels, absent, n_absent_labels)
        options.print_line(said, on_stderr=True)
    if not quiet:
        accuracy = record.get("accuracy")  # None, too, where every node with a truth is labeled
        said = "" if accuracy is None else f", accuracy {accuracy:.3f}"
        alike = f"homophily {model.homophily_:.2f} +- {model.homophily_error_:.2f}, "
        alike = alike if model.homophily_error_ < 0.5 else ""
        said += f", {sizes['average_set_size']:.2f} classes in a set" if sets is not None else ""
        said += f", {sizes['flagged']:,} flagged as {positive}" if positive is not None else ""
        for name in ("auc", "average_precision", "precision", "recall", "calibration_error"):
            said += f", {name} {sizes[name]:.3f}" if sizes.get(name) is not None else ""
        options.print_summary(
            f"{record['nodes']:,} nodes labeled from {record['labelled']:,} in "
            f"{record['classes']} classes, {record['reached']:,} reached, "
            f"{alike}"
            f"{_passes_told(record)} {record['seconds']:.1f} s{said}, in {out}",
            out,
        )


def _recent(source, model, reading, times):
    """The edges that count: sparse-hfs finds them itself."""
    from graphsqueak.sources.times import Duration

    times = {name: time for name, time in times.items() if time is not None}
    if not times:
        return source
    if reading.time is None:
        raise InputError("--window and --half-life need the times of edges; give --time COLUMN")
    if any(isinstance(time, Duration) for time in times.values()):
        source.expect_seconds()
    if hasattr(model, "window"):
        model.set_params(**times)
        return source
    from graphsqueak.sources.recent import recent_edges

    return recent_edges(source, **times)


def _model(method, eta, budget, passes, seed):
    from graphsqueak.validation import check_choice

    check_choice("method", method, _METHODS)
    if passes != "auto" and not (passes.isdecimal() and int(passes) > 0):
        raise InputError(f"--passes {passes} is neither auto nor a number of reads, 1 or more")
    if method != "sparse-hfs" and passes != "auto":
        raise InputError("--passes is for --method sparse-hfs only; the others hold the graph")
    if method != "sparse-hfs" and budget != (None, None, None):
        raise InputError("--epsilon, --edges and --keep are for --method sparse-hfs only")
    if eta is not None and method not in _OWN:
        raise InputError("--eta is for the methods sparse-hfs and stable-hfs only")
    eta = "auto" if eta is None else eta
    if method == "sparse-hfs":
        from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier

        passes = passes if passes == "auto" else int(passes)
        return SparseHFSClassifier(**budget._asdict(), passes=passes, eta=eta, random_state=seed)

    from graphsqueak import ssl

    if method == "stable-hfs":
        return ssl.StableHFSClassifier(eta=eta, random_state=seed)
    return getattr(ssl, _OTHERS[method])(random_state=seed)


class _LabeledNodes(NamedTuple):
    """The nodes of EDGES, then those of LABELS without an edge, with the attributes of a model."""

    ids_: Any
    classes_: Any
    transduction_: Any
    label_distributions_: Any
    reached_: Any


def _absent_nodes(nodes, ids):
    """The nodes of a table of labels that no edge has, in the order of the table."""
    absent = {str(node): node for node in nodes}
    for name in ids.tolist():
        absent.pop(str(name), None)
    return list(absent.values())


def _with_absent_nodes(model, absent, given):
    """All nodes of EDGES and LABELS. Of those without an edge, a label that is given is certain.

    Those without a label are treated as the nodes of the graph that no label reaches: they get the
    most frequent label, with the same probability of every class.
    """
    import numpy as np

    n_classes = len(model.classes_)
    code = {value: number for number, value in enumerate(model.classes_.tolist())}
    codes = {node: code[value] for node, value in given.items()}
    in_graph = [codes[node] for node in codes.keys() - set(absent)]
    most_frequent = int(np.bincount(in_graph, minlength=n_classes).argmax())
    is_labeled = np.array([node in codes for node in absent], dtype=bool)
    absent_codes = np.array([codes.get(node, most_frequent) for node in absent], dtype=np.int64)
    shares = np.full((len(absent), n_classes), 1 / n_classes)
    shares[is_labeled] = np.eye(n_classes)[absent_codes[is_labeled]]
    return _LabeledNodes(
        ids_=_joined_ids(model.ids_, absent),
        classes_=model.classes_,
        transduction_=np.concatenate([model.transduction_, model.classes_[absent_codes]]),
        label_distributions_=np.concatenate([model.label_distributions_, shares]),
        reached_=np.concatenate([model.reached_, is_labeled]),
    )


def _joined_ids(ids, absent):
    """Ids of both, as text if not all of them are integers."""
    import numpy as np

    both = [*ids.tolist(), *absent]
    if all(isinstance(node, int) for node in both):
        return np.array(both)
    return np.array([str(node) for node in both], dtype=object)


def _note_on_absent(labels, absent, n_labeled):
    """What became of the nodes of LABELS that have no edge.

    >>> _note_on_absent("labels.csv", [77, 78, 79], 2)
    'note: 3 nodes of labels.csv have no edge (77 is one): 2 keep their labels, 1 unreached; ...'
    >>> _note_on_absent("labels.csv", ["ann"], 0)
    "note: 1 node of labels.csv has no edge ('ann'): 1 unreached; check the spelling"
    """
    n_unreached = len(absent) - n_labeled
    if len(absent) == 1:
        said = f"note: 1 node of {labels} has no edge ({absent[0]!r})"
    else:
        said = f"note: {len(absent):,} nodes of {labels} have no edge ({absent[0]!r} is one)"
    became = []
    if n_labeled:
        became.append("1 keeps its label" if n_labeled == 1 else f"{n_labeled:,} keep their labels")
    if n_unreached:
        became.append(f"{n_unreached:,} unreached")
    return f"{said}: {', '.join(became)}; check the spelling"


def _passes_told(record):
    """How often the edges were read, and how many labels may differ from the whole graph's."""
    if record["method"] != "sparse-hfs":
        return "in"
    if record["undecided"] is None:
        return "in one pass, from a part of the edges, in"
    if record["passes"] == 1:
        return "in one pass, from all edges, in"
    return (
        f"in {record['passes']} passes, after which about {record['undecided']:,} labels may "
        "still differ from those of the whole graph, in"
    )


def _check_sets(alpha, given):
    from graphsqueak.validation import check_real

    check_real("--sets", alpha, above=0.0, below=0.5)
    for value in given.values():
        if "|" in str(value):
            raise InputError(f"class {value!r} holds a |, which separates classes; rename it")


def _add_sets(table, model, labeled, alpha, given):
    """Put the column set into the table; returns what is told about the sets."""
    import numpy as np

    sets = model.prediction_sets(alpha)
    # A given label is the only possible class; without a label and an edge every class is possible.
    absent = labeled.label_distributions_[len(sets) :] > 0
    sets = np.concatenate([sets, absent])
    names = list(map(str, model.classes_.tolist()))
    table["set"] = ["|".join(itertools.compress(names, row)) for row in sets]
    known = set(map(str, given))
    is_other = [str(node) not in known for node in labeled.ids_.tolist()]
    size = float(sets[is_other].sum(axis=1).mean()) if any(is_other) else 1.0
    return {"sets": alpha, "average_set_size": size}


def _accuracy(model, given, truth):
    """Share of the nodes with a truth and without a label that are right."""
    asked = {str(node): str(value) for node, value in truth.items() if node not in given}
    pairs = zip(map(str, model.ids_.tolist()), map(str, model.transduction_.tolist()), strict=True)
    right = [asked[node] == label for node, label in pairs if node in asked]
    return sum(right) / len(right) if right else None
