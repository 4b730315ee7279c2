"""graphsqueak label: labels of all nodes of an edge file from those of a few."""

import itertools
import time
import warnings
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from graphsqueak.cli.dry_run import describe_beginning, print_dry_run
from graphsqueak.cli.groups import (
    DryRun,
    Force,
    Printing,
    Seed,
    Size,
    TableOut,
    Window,
    with_option_groups,
)
from graphsqueak.cli.help_pages import ADVANCED, OUTPUT
from graphsqueak.cli.labeled_nodes import (
    absent_nodes,
    accuracy,
    note_on_absent_nodes,
    with_absent_nodes,
)
from graphsqueak.cli.output import (
    check_format,
    check_outputs,
    print_json,
    print_line,
    print_summary,
)
from graphsqueak.cli.reading import (
    Edges,
    Reading,
    announce_schema,
    paths_read,
    report_schema,
)
from graphsqueak.errors import InputError
from graphsqueak.ssl.label_table import read_label_table

# Class of the estimator by the name of --method.
METHODS = {
    "auto": "SparseHFSClassifier",
    "streaming": "SparseHFSClassifier",
    "in-memory": "StableHFSClassifier",
}
# Class of the estimator by the name of --baseline.
BASELINES = {
    "hfs": "HFSClassifier",
    "simple-hfs": "SimpleHFSClassifier",
    "subsampling": "SubsampledHFSClassifier",
    "eigfun": "EigenfunctionClassifier",
    "1nn": "NearestLabelClassifier",
    "poisson": "PoissonClassifier",
}


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """The classifier and its parameters."""

    method: Annotated[
        Literal[tuple(METHODS)],  # type: ignore[valid-type]
        typer.Option(
            help="Stream the edges in a few passes (auto and streaming, Sparse-HFS), or load the "
            "graph (in-memory, Stable-HFS). The labels are nearly the same."
        ),
    ] = "auto"
    baseline: Annotated[
        Literal[tuple(BASELINES)] | None,  # type: ignore[valid-type]
        typer.Option(
            help="Use a simpler classifier, for comparison. It loads the graph.",
            rich_help_panel=ADVANCED,
        ),
    ] = None
    max_passes: Annotated[
        str,
        typer.Option(
            metavar="N|auto",
            help="Maximum number of passes over the edges (streaming). auto stops when the labels "
            "have settled, after at most eight passes; a pipe has one.",
        ),
    ] = "auto"
    eta: Annotated[
        float | None,
        typer.Option(
            metavar="ETA",
            help="Weight of smoothness over the graph: large values follow the neighbors, small "
            "values the labels.",
            show_default="estimate",
            rich_help_panel=ADVANCED,
        ),
    ] = None

    @property
    def is_streaming(self):
        """Whether the edges are streamed instead of loaded."""
        return self.baseline is None and self.method != "in-memory"

    @property
    def name(self):
        """What --json calls the classifier: streaming, in-memory, or the baseline."""
        if self.baseline is not None:
            return self.baseline
        return "streaming" if self.is_streaming else "in-memory"

    def make(self, size, *, random_state, progress):
        """Return the estimator; an InputError if options do not go together."""
        from graphsqueak import ssl

        budget = size.budget()
        if self.max_passes != "auto" and not (
            self.max_passes.isdecimal() and int(self.max_passes) > 0
        ):
            raise InputError(
                f"--max-passes {self.max_passes} is neither auto nor a positive number"
            )
        if self.baseline is not None and self.method != "auto":
            raise InputError(
                f"--method {self.method} and --baseline {self.baseline} exclude each other; omit "
                "one of them"
            )
        if not self.is_streaming and self.max_passes != "auto":
            raise InputError("--max-passes is for --method streaming; others load the graph")
        if not self.is_streaming and budget != (None, None, None):
            raise InputError("--keep, --n-edges and --epsilon are for --method streaming")
        if self.baseline is not None:
            if self.eta is not None:
                raise InputError("--eta is not a parameter of baselines; omit --baseline")
            return getattr(ssl, BASELINES[self.baseline])(random_state=random_state)
        estimator = getattr(ssl, METHODS[self.method])(random_state=random_state)
        eta = "auto" if self.eta is None else self.eta
        estimator.set_params(eta=eta)
        if self.is_streaming:
            max_passes = self.max_passes if self.max_passes == "auto" else int(self.max_passes)
            estimator.set_params(**budget._asdict(), max_passes=max_passes, progress=progress)
        return estimator


@dataclass(frozen=True, kw_only=True)
class Detection:
    """The search for nodes of one class."""

    positive_class: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Class to look for, such as fraud. Adds the columns score and flagged.",
        ),
    ] = None
    top: Annotated[
        int | None,
        typer.Option(metavar="N", help="Flag the N unlabeled nodes with the highest scores."),
    ] = None
    min_score: Annotated[
        float | None, typer.Option(metavar="SCORE", help="Flag nodes with at least this score.")
    ] = None
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Flag the nodes above a score that is expected to find this fraction of the "
            "class. 0.8 needs 4 labels of the class, and 0.9 needs 9.",
        ),
    ] = None

    def check(self, classes):
        """Raise an InputError if the options do not fit each other or the labels."""
        has_rule = (self.top, self.min_score, self.recall) != (None, None, None)
        if self.positive_class is None and has_rule:
            raise InputError(
                "--top, --min-score and --recall need --positive-class, the class to look for"
            )
        if self.positive_class is not None and self.positive_class not in map(str, classes):
            raise InputError(
                f"--positive-class {self.positive_class} is not a class of the labels; check its "
                "spelling"
            )


@with_option_groups
def label(
    edges: Edges,
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            help="Table with the columns node and label, and optionally weight and truth (csv, "
            "tsv, parquet).",
        ),
    ],
    node_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of node ids in LABELS.", show_default="node"),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of labels in LABELS.", show_default="label"),
    ] = None,
    *,
    out: TableOut,
    prediction_sets: Annotated[
        float | None,
        typer.Option(
            metavar="ALPHA",
            help="Add a column of classes that contains the right one with probability "
            "1 - 2 ALPHA, if the labeled nodes were drawn at random.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    per_class: Annotated[
        bool,
        typer.Option(
            "--per-class", help="Add a column probability_CLASS per class.", rich_help_panel=OUTPUT
        ),
    ] = False,
    force: Force = False,
    dry_run: DryRun = False,
    classifier: Classifier,
    detection: Detection,
    size: Size,
    reading: Reading,
    window: Window,
    printing: Printing,
    random_state: Seed = None,
):
    """Label every node of a graph, given the labels of a few.

    The output has the columns node, label and confidence. Nodes that are strongly connected get
    the same label. Nodes in components without a label get the most frequent label, and its
    frequency as confidence. Nodes of LABELS without an edge are included as well: with their own
    label and confidence 1, or like components without a label.

    With --method streaming, the default, edges are never loaded, and labels are those of in-memory
    on the whole graph, up to a few. A pipe is read once, and its labels are those of a part of the
    edges.

    In LABELS, --node-column and --label-column name the columns. An empty label means unknown. A
    column weight is the weight of each label in the loss (empty is 1, 0 ignores the label). With a
    column truth, the accuracy over unlabeled nodes is reported. Classes of a prediction set are
    separated by |.

    Examples:
      graphsqueak label edges.tsv.gz labels.csv -o labeled.csv
      graphsqueak label edges.tsv labels.csv -o labeled.csv --method in-memory
      graphsqueak label edges.tsv labels.csv -o labeled.csv --positive-class red --top 10
    """
    from graphsqueak.sources.files.writing import write_columns

    began = time.perf_counter()
    check_format(out)
    if detection.recall is not None and classifier.baseline is not None:
        raise InputError("--recall is not for baselines; omit --baseline")
    model = classifier.make(size, random_state=random_state, progress=printing.progress)
    source = reading.open(edges, random_state)
    check_outputs(
        {"--out": out},
        [*paths_read(edges, source), labels],
        printing=printing,
        force=force,
        is_dry_run=dry_run,
    )
    label_table = read_label_table(
        labels, ids=reading.ids, node_column=node_column, label_column=label_column
    )
    given = label_table.given
    if label_table.weight and classifier.baseline is not None:
        raise InputError(
            f"{labels} has weights of labels, which baselines do not use; omit --baseline, or "
            "remove the column weight"
        )
    graph = _select_recent(source, model, window, reading)
    if prediction_sets is not None:
        _check_prediction_sets(prediction_sets, given)
    detection.check(given.values())
    if dry_run:
        text = f"{labels}: {len(given):,} labels of {len(set(given.values())):,} classes"
        print_dry_run([describe_beginning(source), text], [out], as_json=printing.as_json)
        return
    announce_schema(source, quiet=printing.quiet)
    messages = _fit(model, graph, given, label_table.weight)
    absent = absent_nodes(label_table.nodes, model.ids_)
    # A label of weight 0 is ignored.
    effective = {
        node: value for node, value in given.items() if label_table.weight.get(node, 1.0) > 0
    }
    labeled = with_absent_nodes(model, absent, effective)
    columns, record = _output_columns(
        model,
        labeled,
        label_table,
        detection=detection,
        prediction_sets=prediction_sets,
        per_class=per_class,
    )
    write_columns(columns, out)
    n_absent_labels = int(labeled.has_label_in_component_[len(model.ids_) :].sum())
    record = {
        "nodes": len(labeled.ids_),
        "labelled": len(given),
        "weighted": len(label_table.weight),
        "classes": len(model.classes_),
        "reached": int(labeled.has_label_in_component_.sum()),
        "homophily": model.homophily_,
        "homophily_error": model.homophily_error_,
        "without_an_edge": len(absent),
        "without_an_edge_or_label": len(absent) - n_absent_labels,
        "warnings": messages,
        "eta": getattr(model, "eta_", None),
        "edges_read": getattr(model, "n_edges_seen_", source.n_edges_read),
        "edges_used": getattr(model, "n_edges_used_", source.n_edges_read),
        "sums": getattr(model, "n_sums_", 0),
        "passes": getattr(model, "n_passes_", 1),
        "unstable": getattr(model, "n_unstable_", 0),
        "seconds": time.perf_counter() - began,
        "method": classifier.name,
        "seed": random_state,
        **record,
        "input": report_schema(source, quiet=printing.quiet, is_announced=True),
    }
    if label_table.truth:
        record["accuracy"] = accuracy(labeled, given, label_table.truth)
    if printing.as_json:
        print_json(record)
        return
    for message in messages:
        print_line(f"warning: {message}", on_stderr=True)
    if not printing.quiet:
        if absent:
            print_line(note_on_absent_nodes(labels, absent, n_absent_labels), on_stderr=True)
        print_summary(f"{_describe(record, detection.positive_class)}, in {out}", out)


def _fit(model, graph, given, weight):
    """Fit the classifier and return its warnings, except those that the summary reports."""
    from graphsqueak.ssl.base import UnreachedWarning
    from graphsqueak.ssl.decisions.homophily import HomophilyWarning
    from graphsqueak.ssl.labels import AbsentLabelsWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HomophilyWarning)
        warnings.simplefilter("always", AbsentLabelsWarning)
        warnings.simplefilter("ignore", UnreachedWarning)
        if weight:
            model.fit(graph, given, sample_weight=weight)
        else:
            model.fit(graph, given)
    return [str(one.message) for one in caught if one.category is not AbsentLabelsWarning]


def _select_recent(source, model, window, reading):
    """Return the edges that count. The streamed classifier selects them itself."""
    from graphsqueak.sources.recent import recent_edges
    from graphsqueak.sources.times import Duration

    window.check(reading.time)
    durations = {"window": window.window, "half_life": window.half_life}
    durations = {name: value for name, value in durations.items() if value is not None}
    if not durations:
        return source
    if any(isinstance(value, Duration) for value in durations.values()):
        source.expect_seconds()
    if "window" in model.get_params():
        model.set_params(**durations)
        return source
    return recent_edges(source, **durations)


def _output_columns(model, labeled, label_table, *, detection, prediction_sets, per_class):
    """Return the columns of the output table, and figures about them for the record."""
    from graphsqueak.ssl.evaluation.detection import find_positives

    columns = {
        "node": labeled.ids_,
        "label": labeled.transduction_,
        "confidence": labeled.label_distributions_.max(axis=1),
    }
    record = {}
    if prediction_sets is not None:
        is_in_set = _prediction_sets(model, labeled, prediction_sets)
        names = list(map(str, model.classes_.tolist()))
        columns["set"] = ["|".join(itertools.compress(names, row)) for row in is_in_set]
        record["prediction_sets"] = prediction_sets
        record["average_set_size"] = _average_set_size(is_in_set, labeled, label_table.given)
    if per_class:
        for name, column in zip(
            labeled.classes_.tolist(), labeled.label_distributions_.T, strict=True
        ):
            columns[f"probability_{name}"] = column
    if detection.positive_class is not None:
        score, is_flagged, figures = find_positives(
            labeled,
            detection.positive_class,
            known=label_table.given,
            truth=label_table.truth,
            top=detection.top,
            min_score=detection.min_score,
            recall=detection.recall,
        )
        columns["score"] = score
        columns["flagged"] = is_flagged
        record |= figures
    return columns, record


def _check_prediction_sets(alpha, given):
    from graphsqueak.validation import check_real

    check_real("prediction_sets", alpha, above=0.0, below=0.5)
    for value in given.values():
        if "|" in str(value):
            raise InputError(f"class {value!r} contains |, which separates classes; rename it")


def _prediction_sets(model, labeled, alpha):
    """Return which classes are in the set of each node, shape (nodes, classes).

    A given label is the only possible class. Without a label and an edge every class is possible.
    """
    import numpy as np

    sets = model.prediction_sets(alpha)
    absent = labeled.label_distributions_[len(sets) :] > 0
    return np.concatenate([sets, absent])


def _average_set_size(is_in_set, labeled, given):
    """Return the mean number of classes in the sets of nodes without a given label."""
    known = set(map(str, given))
    is_unlabeled = [str(node) not in known for node in labeled.ids_.tolist()]
    return float(is_in_set[is_unlabeled].sum(axis=1).mean()) if any(is_unlabeled) else 1.0


def _describe(record, positive_class):
    """Return the summary of a run in one line."""
    parts = [
        f"{record['nodes']:,} nodes labeled from {record['labelled']:,} in {record['classes']} "
        "classes",
        f"{record['reached']:,} in a component with a label",
    ]
    if record["homophily_error"] < 0.5:
        parts.append(f"homophily {record['homophily']:.2f} +- {record['homophily_error']:.2f}")
    parts.append(f"{_describe_passes(record)} {record['seconds']:.1f} s")
    if record.get("accuracy") is not None:
        parts.append(f"accuracy {record['accuracy']:.3f}")
    if "average_set_size" in record:
        parts.append(f"{record['average_set_size']:.2f} classes in a set")
    if "flagged" in record:
        parts.append(f"{record['flagged']:,} flagged as {positive_class}")
    for name in ("auc", "average_precision", "precision", "recall", "calibration_error"):
        if record.get(name) is not None:
            parts.append(f"{name} {record[name]:.3f}")
    return ", ".join(parts)


def _describe_passes(record):
    """Return the number of passes, and how many labels may differ from those of the whole graph."""
    if record["method"] != "streaming":
        return "in"
    if record["unstable"] is None:
        return "in one pass, from a part of the edges, in"
    if record["passes"] == 1:
        return "in one pass, from all edges, in"
    return (
        f"in {record['passes']} passes, after which about {record['unstable']:,} labels may "
        "still differ from those of the whole graph, in"
    )
