"""Read broken files for some minutes: only our own error may come of it.

    python -m tests.fuzz.run [--minutes 10] [--seed N] [--only NAME] [--keep FOLDER]

A child process reads one broken file after the other. It is a finding when anything but an
InputError is raised, when a file takes longer than 20 s or more than 1 GiB beyond what the child
began with, or when the child dies. Findings are written to the folder; every file depends on the
seed and its number alone. The last line says how many files were read.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

SECONDS, GROWTH = 20, 1 << 30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=271_828)
    parser.add_argument("--only", default="", help="files whose names hold this")
    parser.add_argument("--keep", default="fuzz-findings", help="folder for what was found")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        read_from(arguments)
        return
    n_findings = first = 0
    with tempfile.TemporaryDirectory() as folder:
        until = time.monotonic() + 60 * arguments.minutes
        while time.monotonic() < until:
            code, number, name = watched(arguments, first, Path(folder), until)
            if code == 0:
                first = number
                break
            if number is None:
                sys.exit((Path(folder) / "said").read_text())
            n_findings += 1
            kept = keep(arguments.keep, Path(folder), f"{number}-{name}", code)
            print(f"finding: {kept}", flush=True)
            first = number + 1
    print(f"{first:,} broken files, {n_findings} findings (seed {arguments.seed})")
    sys.exit(n_findings > 0)


def watched(arguments, first, folder, until):
    """Start a child at file `first`; its exit code, and the number and name of its last file."""
    (folder / "last").unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.run", "--child", str(first)]
    command += ["--seed", str(arguments.seed), "--only", arguments.only]
    command += ["--minutes", str((until - time.monotonic()) / 60), "--keep", str(folder)]
    child = subprocess.Popen(command, stderr=(folder / "said").open("wb"))
    seen, since = None, time.monotonic()
    while child.poll() is None:
        time.sleep(0.2)
        now = last(folder)
        if now != seen:
            seen, since = now, time.monotonic()
        if time.monotonic() - since > SECONDS + 60 * (seen is None):
            child.kill()
    return child.wait(), *(last(folder) or (None, ""))


def last(folder):
    try:
        number, name = os.readlink(folder / "last").split(" ")
    except OSError:
        return None
    return int(number), name


def keep(kept, folder, name, code):
    kept = Path(kept)
    kept.mkdir(exist_ok=True)
    said = (folder / "said").read_text("utf-8", "replace")
    broken = folder / name.partition("-")[2]
    (kept / name).write_bytes(broken.read_bytes() if broken.exists() else b"")
    (kept / f"{name}.said").write_text(f"exit code {code}\n{said}")
    return kept / name


def read_from(arguments):
    """The child: read file after file until the time is over or one is a finding."""
    from graphsqueak.errors import InputError
    from tests.fuzz.examples import FILES, kind_of, read
    from tests.fuzz.mutations import mutated

    folder = Path(arguments.keep)
    names = [name for name in FILES if arguments.only in name]
    for name in names:
        (folder / name).write_bytes(FILES[name])
        read(folder / name)
    warnings.simplefilter("ignore")
    number, most = arguments.child, peak() + GROWTH
    until = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < until:
        name = names[number % len(names)]
        chance = random.Random(f"{arguments.seed} {number}")
        data = mutated(FILES[name], chance, is_sealed=kind_of(name) == "checkpoint")
        (folder / name).write_bytes(data)
        (folder / "new").unlink(missing_ok=True)
        os.symlink(f"{number} {name}", folder / "new")
        os.replace(folder / "new", folder / "last")
        try:
            read(folder / name)
        except InputError:
            pass
        except BaseException:
            traceback.print_exc()
            sys.exit(1)
        if peak() > most:
            print(f"grew by {(peak() - most + GROWTH) >> 20} MiB", file=sys.stderr)
            sys.exit(1)
        number += 1


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
