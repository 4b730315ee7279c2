"""The data of the online studies, scaled as the papers do: features and targets to [0, 1].

Files are looked up as `real_data` says; what is absent is left out. Labels are -1 and 1.
"""

from functools import cache

import numpy as np
from real_data import data_file, load_present
from sklearn.datasets import load_svmlight_file

__all__ = ["available", "load_online"]


def available(names):
    """Those of the names whose files are there."""
    return [name for name, _ in load_present({n: lambda n=n: load_online(n) for n in names})]


@cache
def load_online(name):
    """(X, y) in the order of the file."""
    return SETS[name]()


def _unit(columns):
    low, span = columns.min(axis=0), np.ptp(columns, axis=0)
    return (columns - low) / np.where(span > 0, span, 1.0)


def _parkinsons():
    """20 features, the patient's number among them; the target is the total score."""
    table = np.loadtxt(data_file("parkinsons", "parkinsons_updrs.data"), delimiter="\t", skiprows=1)
    return _unit(np.delete(table, [4, 5], axis=1)), _unit(table[:, 5])


def _voice():
    """The 16 measures of the voice alone: without patient, age, sex and time."""
    X, y = load_online("parkinsons")
    return X[:, 4:], y


def _cpusmall():
    X, y = load_svmlight_file(str(data_file("cpusmall", "cpusmall.txt")))
    return _unit(X.toarray()), _unit(y)


def _cadata():
    table = np.loadtxt(data_file("cadata", "cal_housing.data"), delimiter=",")
    return _unit(table[:, :-1]), _unit(table[:, -1])


def _casp():
    table = np.loadtxt(data_file("casp", "CASP.csv"), delimiter=",", skiprows=1)
    return _unit(table[:, 1:]), _unit(table[:, 0])


def _ijcnn1():
    """As the file has it, within 1.4 of 0: the printed numbers of points kept need that."""
    parts = [
        load_svmlight_file(str(data_file("ijcnn1", f"ijcnn1.{end}.bz2"))) for end in ("trn", "tst")
    ]
    X = np.vstack([part[0].toarray() for part in parts])
    return X, np.concatenate([part[1] for part in parts])


def _cod_rna():
    """30,000 rows of the 271,617."""
    from scipy.io import loadmat

    table = loadmat(data_file("cod-rna", "cod-rna.mat"))
    X, y = (np.asarray(table[key], dtype=np.float64) for key in ("X", "y"))
    return _unit(X), np.where(y.ravel() > 0, 1.0, -1.0)


def _spambase():
    table = np.loadtxt(data_file("spambase", "spambase.data"), delimiter=",")
    return _unit(table[:, :-1]), np.where(table[:, -1] > 0, 1.0, -1.0)


def _german():
    table = np.loadtxt(data_file("german", "german.data-numeric"), skiprows=1)
    return _unit(table[:, :-1]), np.where(table[:, -1] == 1, 1.0, -1.0)


SETS = {
    "parkinsons": _parkinsons,
    "parkinsons, voice": _voice,
    "cpusmall": _cpusmall,
    "cadata": _cadata,
    "casp": _casp,
    "ijcnn1": _ijcnn1,
    "cod-rna subset": _cod_rna,
    "spambase": _spambase,
    "german": _german,
}
