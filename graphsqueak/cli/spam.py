"""graphsqueak spam: scores of the mails in a mailbox from the labels of a few."""

import time
from typing import Annotated, Literal

import typer

from graphsqueak.cli.dry_run import describe_points, print_dry_run
from graphsqueak.cli.groups import DryRun, Force, Printing, Seed, with_option_groups
from graphsqueak.cli.help_pages import INPUT, OUTPUT
from graphsqueak.cli.output import check_format, check_outputs, print_json, print_summary
from graphsqueak.ssl.label_table import read_labels

__all__ = ["spam"]


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
        str,
        typer.Option(
            metavar="PATH",
            help="Table with the columns node and label: names of mails, and spam or ham (1 or 0, "
            "or empty). graphsqueak neighbors --label-template writes one to fill in.",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Save the filter to this file. If the file exists, only new mails are read, and "
            "new labels take effect at once.",
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
    layout: Annotated[
        Literal["trec", "folders", "sms", "mbox", "maildir", "csv", "auto"],
        typer.Option(help="Layout of the mails.", rich_help_panel=INPUT),
    ] = "auto",
    force: Force = False,
    dry_run: DryRun = False,
    *,
    printing: Printing,
    random_state: Seed = 0,
):
    """Score every mail of a mailbox, given some that are known to be spam or ham.

    The output has one row per mail: id, label and score, from 0 (ham) to 1 (spam). Mails without a
    label contribute to the classification, so that 20 to 100 labels are enough. With --model the
    filter is saved: later runs score new mails by their nearest neighbors among known mails, in
    seconds. Remove the file to learn new words, once most mails are newer than the model.

    Examples:
      graphsqueak spam Maildir --labels known.csv
      graphsqueak spam Maildir --labels known.csv -o scores.csv --model spam.model
      graphsqueak spam Maildir --labels known.csv --json
    """
    import numpy as np

    from graphsqueak.mail import SpamFilter
    from graphsqueak.sources import write_columns
    from graphsqueak.system import atomic
    from graphsqueak.system.progress import reporter
    from graphsqueak.system.remote import exists

    began = time.perf_counter()
    if out is not None:
        check_format(out)
    inputs = [mails, labels]
    check_outputs({"--out": out}, inputs, printing=printing, force=force, is_dry_run=dry_run)
    # An existing model is updated, so that it is checked for a conflict with other paths only.
    paths = {"--out": out, "--model": model}
    atomic.check_outputs(
        {option: path for option, path in paths.items() if path not in (None, "-")}, inputs
    )
    given, _ = read_labels(labels)
    if dry_run:
        print_dry_run(
            [describe_points(mails, layout), f"{labels}: {len(given):,} labels"],
            [path for path in (out, model) if path is not None],
            as_json=printing.as_json,
        )
        return
    with reporter(printing.progress, f"reading {mails}"):
        if model is not None and exists(model):
            spam_filter = SpamFilter.load(model)
        else:
            spam_filter = SpamFilter(random_state=random_state)
        scored = spam_filter.update(mails, given, layout=layout)
    label = np.array(["spam" if is_spam else "ham" for is_spam in scored.is_spam])
    table = {"id": scored.ids, "label": label, "score": scored.score.round(6)}
    with atomic.written_together():
        if model is not None:
            spam_filter.save(model)
        if out is not None or not printing.as_json:
            write_columns(table, atomic.STANDARD_OUTPUT if out is None else out)
    record = {
        "mails": len(label),
        "labelled": int(scored.is_labeled.sum()),
        "new": int(scored.is_new.sum()),
        "spam": int(scored.is_spam.sum()),
        "ham": int((~scored.is_spam).sum()),
        "known_mails": spam_filter.n_mails,
        "unreadable": scored.counts["unreadable"],
        "seconds": time.perf_counter() - began,
        "seed": random_state,
    }
    if printing.as_json:
        print_json(record)
    elif not printing.quiet:
        print_summary(
            f"{record['mails']:,} mails, {record['labelled']:,} of them labeled and "
            f"{record['new']:,} read in this run: {record['spam']:,} spam, {record['ham']:,} ham, "
            f"in {record['seconds']:.1f} s" + ("" if out is None else f", in {out}"),
            out or atomic.STANDARD_OUTPUT,
        )
