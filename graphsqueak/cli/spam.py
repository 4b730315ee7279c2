"""graphsqueak spam: scores of the mails in a mailbox from the labels of a few."""

import time
from typing import Annotated

import typer

from graphsqueak.cli import options
from graphsqueak.cli.dry_run import DryRun, beginning_of_points, tell_dry_run
from graphsqueak.cli.label_table import read_labels

__all__ = ["spam"]


def spam(
    mails: Annotated[
        str,
        typer.Argument(
            metavar="MAILS",
            help="Maildir, mbox or a folder of them, a folder of .eml, a csv of texts.",
        ),
    ],
    known: Annotated[
        str,
        typer.Option(
            help="Table with the columns node and label: names of mails, and spam or ham (1 or 0; "
            "empty is none). graphsqueak neighbors --labels writes one to fill in."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", help="Table to write. [default: print it]"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep there what was learned. If the file is there, only mails that it does not "
            "know are read, and new labels in --known count at once.",
        ),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="trec, folders, sms, mbox, maildir, csv or auto.")
    ] = "auto",
    force: options.Force = False,
    dry_run: DryRun = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Score every mail of a mailbox from a few that are known to be spam or ham.

    One row a mail: id, label and score, from 0 (ham) to 1 (spam). Mails without a label help to
    tell the others, so that 20 to 100 labels do. With --model the filter is kept: new mails are
    scored by their nearest among the mails that it knows, in a second or two. To learn the words
    anew, when most mails are newer than the model, remove its file.

    Example: graphsqueak spam Maildir --known known.csv -o scores.csv --model spam.model
    """
    import numpy as np

    from graphsqueak.sources import write_columns
    from graphsqueak.spam import SpamFilter
    from graphsqueak.system.atomic import STANDARD_OUTPUT, check_outputs, written_together
    from graphsqueak.system.progress import reporter
    from graphsqueak.system.remote import exists

    began = time.perf_counter()
    if out is not None:
        options.check_table(out)
    inputs = [mails, known]
    options.check_outputs(
        {"--out": out}, inputs, force=force or dry_run, quiet=quiet, as_json=as_json
    )
    # an existing model is read first, so that no other file is overwritten in its place
    outputs = {"--out": out, "--model": model}
    outputs = {option: path for option, path in outputs.items() if path not in (None, "-")}
    check_outputs(outputs, inputs)
    given, _ = read_labels(known)
    if dry_run:
        reads = [beginning_of_points(mails, layout), f"{known}: {len(given):,} labels"]
        writes = [path for path in (out, model) if path is not None]
        tell_dry_run(reads, writes, force=force or model is not None, as_json=as_json)
        return
    with reporter(options.shows_progress(quiet=quiet, as_json=as_json), f"reading {mails}"):
        if model is not None and exists(model):
            found = SpamFilter.load(model)
        else:
            found = SpamFilter(random_state=seed)
        scored = found.update(mails, given, layout=layout)
    label = ["spam" if is_spam else "ham" for is_spam in scored.is_spam]
    table = {"id": scored.ids, "label": np.array(label), "score": scored.score.round(6)}
    with written_together():
        if model is not None:
            found.save(model)
        if out is not None or not as_json:
            write_columns(table, STANDARD_OUTPUT if out is None else out)
    record = {
        "mails": len(label),
        "labelled": int(scored.is_labeled.sum()),
        "new": int(scored.is_new.sum()),
        "spam": int(scored.is_spam.sum()),
        "ham": int((~scored.is_spam).sum()),
        "known_mails": found.n_mails,
        "unreadable": scored.counts["unreadable"],
        "seconds": time.perf_counter() - began,
        "seed": seed,
    }
    if as_json:
        options.print_json(record)
    elif not quiet:
        where = "" if out is None else f", in {out}"
        options.print_summary(
            f"{record['mails']:,} mails, {record['labelled']:,} of them labeled and "
            f"{record['new']:,} read now: {record['spam']:,} spam, {record['ham']:,} ham, in "
            f"{record['seconds']:.1f} s{where}",
            out or STANDARD_OUTPUT,
        )
