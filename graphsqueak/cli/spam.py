"""graphsqueak spam: scores of the mails in a mailbox from the labels of a few."""

import shlex
import time
from typing import Annotated, Literal

import typer

from graphsqueak.cli.dry_run import describe_points, print_dry_run
from graphsqueak.cli.groups import DryRun, FixedSeed, Force, Printing, fraction, with_option_groups
from graphsqueak.cli.help_pages import INPUT, OUTPUT
from graphsqueak.cli.output import check_format, check_outputs, print_json, print_summary
from graphsqueak.errors import InputError
from graphsqueak.ssl.label_table import read_labels
from graphsqueak.validation import check_real


@with_option_groups
def spam(
    mails: Annotated[
        str,
        typer.Argument(
            metavar="MAILS",
            help="Maildir, mbox or a folder of them, a folder of .eml files, a csv of texts.",
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Table with the columns node and label: names of mails, and spam or ham (1 or 0, "
            "or empty). --label-template writes one to fill in.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Save the filter to this file. If the file exists, only new mails are read, new "
            "labels take effect at once, and the file is replaced; this needs no --force.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE",
            min=0.0,
            max=1.0,
            help="Call mails with a larger score spam.",
            show_default="0.5",
        ),
    ] = None,
    max_false_positives: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            parser=fraction,
            help="Choose the threshold, 0.5 or more, that flags at most this fraction of the ham: "
            "0.005 or 0.5%. It rests on the labeled ham, of which 1 / FRACTION are needed.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="Table to write.",
            show_default="standard output",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    label_template: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write a table of mails to label next, the most useful first: node, label "
            "(empty), score, subject, sender. The known labels are its last rows, so that it can "
            "be given to --labels. Without --labels, all mails in random order, and no scores.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    layout: Annotated[
        Literal["trec", "folders", "sms", "mbox", "maildir", "csv", "auto"],
        typer.Option(help="Layout of the mails.", rich_help_panel=INPUT),
    ] = "auto",
    force: Force = False,
    dry_run: DryRun = False,
    *,
    printing: Printing,
    random_state: FixedSeed = 0,
):
    """Score every mail of a mailbox, given some that are known to be spam or ham.

    The output has one row per mail: id, label and score, the probability of spam. Mails without a
    label contribute to the classification, so that 20 to 100 labels are enough. With --model the
    filter is saved: later runs score new mails by their nearest neighbors among known mails, in
    seconds. Remove the file to learn new words, once most mails are newer than the model.

    The summary has the fraction of spam that is caught and of ham that is flagged, estimated by
    scoring each labeled mail without its own label.

    Examples:
      graphsqueak spam Maildir --label-template first.csv
      graphsqueak spam Maildir --labels known.csv --model spam.model --max-false-positives 0.5%
      graphsqueak spam Maildir --labels known.csv -o scores.csv --label-template next.csv
    """
    import numpy as np

    from graphsqueak.mail import SpamFilter, mails_to_label, read_mail
    from graphsqueak.sources import write_columns
    from graphsqueak.system import atomic
    from graphsqueak.system.progress import reporter

    began = time.perf_counter()
    _check_rule(threshold, max_false_positives)
    if labels is None:
        options = {
            "-o": out,
            "--model": model,
            "--threshold": threshold,
            "--max-false-positives": max_false_positives,
        }
        _check_no_scores(options, label_template)
    outputs = {"--out": out, "--label-template": label_template}
    for path in outputs.values():
        if path not in (None, atomic.STANDARD_OUTPUT):
            check_format(path)
    inputs = [mails] if labels is None else [mails, labels]
    check_outputs(outputs, inputs, printing=printing, force=force, is_dry_run=dry_run)
    # An existing model is updated, so that it is checked for a conflict with other paths only.
    paths = {option: path for option, path in (outputs | {"--model": model}).items() if path}
    atomic.check_outputs(
        {option: path for option, path in paths.items() if path != atomic.STANDARD_OUTPUT}, inputs
    )
    if labels is None and label_template is not None and not dry_run:
        with reporter(printing.progress, f"reading {mails}"):
            template = _first_template(read_mail(mails, layout=layout), random_state)
        write_columns(template, label_template)
        _print_first_template(mails, label_template, template["label"], printing)
        return
    given, _ = ({}, None) if labels is None else read_labels(labels)
    if model is None:
        spam_filter = SpamFilter(random_state=random_state)
    else:
        spam_filter = SpamFilter.load_or_new(model, random_state=random_state)
    if dry_run:
        print_dry_run(
            [describe_points(mails, layout)]
            + ([] if labels is None else [f"{labels}: {len(given):,} labels"]),
            list(paths.values()),
            as_json=printing.as_json,
        )
        return
    with reporter(printing.progress, f"reading {mails}"):
        scored = spam_filter.update(mails, given, layout=layout)
        template = {}
        if label_template is not None:
            # The model has no subjects: mails are read again.
            source = read_mail(mails, layout=layout)
            template = mails_to_label(scored, source, given, random_state=random_state)
    rule = _rule_record(spam_filter, threshold, max_false_positives)
    is_spam = scored.flagged(rule["threshold"])
    label = np.where(is_spam, "spam", "ham")
    table = {"id": scored.ids, "label": label, "score": scored.score.round(9)}
    with atomic.written_together():
        if model is not None:
            spam_filter.save(model)
        if label_template is not None:
            write_columns(template, label_template)
        if out is not None or not printing.as_json:
            write_columns(table, atomic.STANDARD_OUTPUT if out is None else out)
    record = {
        "mails": len(label),
        "labelled": int(scored.is_labeled.sum()),
        "new": int(scored.is_new.sum()),
        "spam": int(is_spam.sum()),
        "ham": int((~is_spam).sum()),
        **rule,
        "known_mails": spam_filter.n_mails,
        "unreadable": scored.counts["unreadable"],
        "seconds": time.perf_counter() - began,
        "seed": random_state,
    }
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        for line in _describe(record, out):
            print_summary(line, out or atomic.STANDARD_OUTPUT)


def _check_rule(threshold, max_false_positives):
    if max_false_positives is None:
        return
    check_real("max_false_positives", max_false_positives, above=0.0, below=1.0)
    if threshold is not None:
        raise InputError("--threshold and --max-false-positives both set the threshold; give one")


def _check_no_scores(options, label_template):
    """Raise an error if mails are to be scored without labels."""
    used = [option for option, value in options.items() if value is not None]
    if label_template is None or used:
        reason = f"{used[0]} needs" if used else "scores need"
        raise InputError(
            f"{reason} --labels, a table of known mails; --label-template PATH alone writes one to "
            "fill in"
        )


def _first_template(source, random_state):
    """Return a table of all mails, to be labeled from the top.

    In random order, so that labels from the top are a random sample, as the expected rates assume.
    """
    import numpy as np

    words = {1: "spam", 0: "ham"}
    rows = [
        (mail.id, words.get(mail.label), mail.subject or None, mail.sender or None)
        for mail in source
    ]
    if not rows:
        raise InputError("no readable mail")
    order = np.random.default_rng(random_state).permutation(len(rows))
    columns = zip(*(rows[row] for row in order), strict=True)
    return dict(zip(("node", "label", "subject", "sender"), map(list, columns), strict=True))


def _print_first_template(mails, path, labels, printing):
    n_labeled = sum(label is not None for label in labels)
    if printing.as_json:
        print_json({"mails": len(labels), "labelled": n_labeled, "label_template": path})
    elif not printing.quiet:
        command = shlex.join(["graphsqueak", "spam", mails, "--labels", path, "-o", "scores.csv"])
        named = f", {n_labeled:,} of them labeled by the names of folders" if n_labeled else ""
        print_summary(
            f"{len(labels):,} mails{named}, in {path}. Label 20 or more of them from the top, spam "
            f"or ham. Then: {command}",
            path,
        )


def _rule_record(spam_filter, threshold, max_false_positives):
    """Return entries about the threshold, and the fractions of spam and ham that it flags."""
    record = {"calibrated": spam_filter.is_calibrated}
    if max_false_positives is not None:
        chosen = spam_filter.choose_threshold(max_false_positives)
        threshold = chosen.value
        record |= {
            "max_false_positives": max_false_positives,
            "enough_ham": chosen.is_supported,
            "ham_needed": chosen.n_ham_needed,
        }
    rates = spam_filter.expected_rates(0.5 if threshold is None else threshold)
    return record | {
        "threshold": rates.threshold,
        "caught_spam": rates.caught_spam._asdict(),
        "flagged_ham": rates.flagged_ham._asdict(),
    }


def _describe(record, out):
    """Yield the lines of the summary."""
    yield (
        f"{record['mails']:,} mails, {record['labelled']:,} of them labeled and "
        f"{record['new']:,} read in this run: {record['spam']:,} spam, {record['ham']:,} ham, "
        f"in {record['seconds']:.1f} s" + ("" if out is None else f", in {out}")
    )
    if record["calibrated"]:
        caught = _percentage(record["caught_spam"], "spam")
        flagged = _percentage(record["flagged_ham"], "ham")
        yield (
            f"threshold {record['threshold']:.6g}: expected to catch {caught} and to flag {flagged}"
        )
    else:
        yield (
            "too few labels to calibrate scores and to estimate errors; label 8 different mails "
            "or more"
        )
    if not record.get("enough_ham", True):
        n_ham = record["flagged_ham"]["n_labeled"]
        if n_ham:
            used = f"their largest score or 0.5, for about {100 / (n_ham + 1):.2g} %"
        else:
            used = "1, and only labeled spam is flagged"
        yield (
            f"{n_ham:,} labeled ham scored without their label are too few for "
            f"{100 * record['max_false_positives']:.4g} % false positives, which take "
            f"{record['ham_needed']:,}: the threshold is {used}"
        )


def _percentage(fraction, kind):
    """Describe a `LabeledFraction`.

    >>> counts = {"n_flagged": 57, "n_labeled": 60}
    >>> _percentage({**counts, "fraction": 0.95, "low": 0.86, "high": 0.99}, "spam")
    '95.0 % of spam (57 of 60 labeled, 95 % interval 86.0 to 99.0 %)'
    """
    if fraction["n_labeled"] == 0:
        return f"an unknown fraction of {kind} (no labeled one has another to be scored by)"
    return (
        f"{100 * fraction['fraction']:.1f} % of {kind} ({fraction['n_flagged']:,} of "
        f"{fraction['n_labeled']:,} labeled, 95 % interval {100 * fraction['low']:.1f} to "
        f"{100 * fraction['high']:.1f} %)"
    )
