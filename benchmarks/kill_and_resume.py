"""Kill a run at random moments, resume it, and compare the result with an uninterrupted one.

    python benchmarks/kill_and_resume.py [--quick] [--json]

Every round starts a run that saves a checkpoint after each batch, kills it (signal 9) at a random
moment of its expected length, lets the same command resume from whatever the kill left, and
compares the output byte by byte with that of a run that nobody disturbed.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graphsqueak import sources, write_edges

SEED = 299_792


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 kills of a shorter run")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    arguments = parser.parse_args()
    n_kills, n_edges = (3, 1_500_000) if arguments.quick else (20, 5_000_000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rounds(Path(folder), n_kills, n_edges):
            rows.append(row)
            if not arguments.json:
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    n_same = sum(row["same"] for row in rows)
    if arguments.json:
        print(json.dumps({"benchmark": "kill and resume", "rows": rows}))
    else:
        print(f"{n_same} of {len(rows)} resumed runs gave the same bytes")
    sys.exit(n_same < len(rows))


def rounds(folder, n_kills, n_edges):
    path, checkpoint = folder / "edges.tsv", folder / "run.ckpt"
    write_edges(sources.erdos_renyi(20_000, n_edges, random_state=SEED), path)
    program = [sys.executable, "-m", "graphsqueak", "sparsify", str(path), "--n-edges", "160000"]
    program += ["--seed", "8", "--quiet", "--force", "-o"]
    straight, resumed = folder / "straight.tsv", folder / "resumed.tsv"
    saving = ["--checkpoint", str(checkpoint), "--checkpoint-interval", "0", "--resume"]
    subprocess.run([*program, str(straight)], check=True)
    timed([*program, str(resumed), *saving])
    checkpoint.unlink()
    length = timed([*program, str(resumed), *saving])
    moments, n_killed = random.Random(SEED), 0
    while n_killed < n_kills:
        checkpoint.unlink(missing_ok=True)
        resumed.unlink(missing_ok=True)
        moment = moments.uniform(0.0, length)
        process = subprocess.Popen([*program, str(resumed), *saving])
        time.sleep(moment)
        ended = process.poll() is not None
        process.kill()
        process.wait()
        found = checkpoint.exists()
        subprocess.run([*program, str(resumed), *saving], check=True)
        n_killed += not ended
        yield {
            "after s": round(moment, 2),
            "state": "ended before" if ended else f"kill {n_killed}",
            "checkpoint": found,
            "same": resumed.read_bytes() == straight.read_bytes(),
        }


def timed(command):
    began = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
