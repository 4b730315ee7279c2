"""Make datasets/spambase.npz from the table that R's kernlab ships.

    apt-get download r-cran-kernlab && dpkg-deb -x r-cran-kernlab_*.deb kernlab
    pip install rdata
    python benchmarks/make_spambase.py kernlab/usr/lib/R/site-library/kernlab/data/spam.rda

All numbers are multiples of 0.001 below 2^24 and are stored as they are, in float32.
"""

import argparse

import numpy as np
import rdata


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("table", help="spam.rda")
    arguments.add_argument("--out", default="datasets/spambase.npz")
    options = arguments.parse_args()
    table = rdata.read_rda(options.table)["spam"]
    columns = [name for name in table.columns if name != "type"]
    points = table[columns].to_numpy(dtype=np.float32)
    np.savez_compressed(
        options.out,
        points=points,
        labels=(table["type"] == "spam").to_numpy(dtype=np.int8),
        columns=np.array(columns),
    )
    print(f"{options.out}: {points.shape[0]:,} mails, {points.shape[1]} columns")


if __name__ == "__main__":
    main()
