# written by docs/generate.py; do not edit
from graphsqueak.ssl.base import UnreachedWarning as UnreachedWarning
from graphsqueak.ssl.eigenfunction import EigenfunctionClassifier as EigenfunctionClassifier
from graphsqueak.ssl.harmonic_classifier import HFSClassifier as HFSClassifier
from graphsqueak.ssl.nearest_label import NearestLabelClassifier as NearestLabelClassifier
from graphsqueak.ssl.simple_hfs import SimpleHFSClassifier as SimpleHFSClassifier
from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier as SparseHFSClassifier
from graphsqueak.ssl.sparse_regressor import SparseHFSRegressor as SparseHFSRegressor
from graphsqueak.ssl.stable_classifier import StableHFSClassifier as StableHFSClassifier
from graphsqueak.ssl.stable_regressor import StableHFSRegressor as StableHFSRegressor
from graphsqueak.ssl.subsampled import SubsampledHFSClassifier as SubsampledHFSClassifier

__all__ = [
    "EigenfunctionClassifier",
    "HFSClassifier",
    "NearestLabelClassifier",
    "SimpleHFSClassifier",
    "SparseHFSClassifier",
    "SparseHFSRegressor",
    "StableHFSClassifier",
    "StableHFSRegressor",
    "SubsampledHFSClassifier",
    "UnreachedWarning",
]
