# written by docs/generate.py; do not edit
from graphsqueak.ssl.base import LateLabelsWarning as LateLabelsWarning
from graphsqueak.ssl.base import UnreachedWarning as UnreachedWarning
from graphsqueak.ssl.baselines.nearest import NearestLabelClassifier as NearestLabelClassifier
from graphsqueak.ssl.baselines.nearest import SubsampledHFSClassifier as SubsampledHFSClassifier
from graphsqueak.ssl.baselines.poisson import PoissonClassifier as PoissonClassifier
from graphsqueak.ssl.baselines.smooth_functions import EigenfunctionClassifier as EigenfunctionClassifier
from graphsqueak.ssl.baselines.smooth_functions import SimpleHFSClassifier as SimpleHFSClassifier
from graphsqueak.ssl.bounds import Bound as Bound
from graphsqueak.ssl.decisions.homophily import HomophilyWarning as HomophilyWarning
from graphsqueak.ssl.evaluation.cross_validation import cross_validate as cross_validate
from graphsqueak.ssl.evaluation.detection import detection_report as detection_report
from graphsqueak.ssl.evaluation.detection import find_positives as find_positives
from graphsqueak.ssl.evaluation.detection import flag_positives as flag_positives
from graphsqueak.ssl.features.neighbor_means import NeighborMeans as NeighborMeans
from graphsqueak.ssl.features.stacking import GraphStacking as GraphStacking
from graphsqueak.ssl.harmonic import HFSClassifier as HFSClassifier
from graphsqueak.ssl.labels import AbsentLabelsWarning as AbsentLabelsWarning
from graphsqueak.ssl.labels import AmbiguousLabelsWarning as AmbiguousLabelsWarning
from graphsqueak.ssl.regressors import SparseHFSRegressor as SparseHFSRegressor
from graphsqueak.ssl.regressors import StableHFSRegressor as StableHFSRegressor
from graphsqueak.ssl.selection.graph_nodes import GraphNodes as GraphNodes
from graphsqueak.ssl.selection.graph_split import GraphSplit as GraphSplit
from graphsqueak.ssl.sparse_classifier import SparseHFSClassifier as SparseHFSClassifier
from graphsqueak.ssl.stable_classifier import StableHFSClassifier as StableHFSClassifier

__all__ = [
    "AbsentLabelsWarning",
    "AmbiguousLabelsWarning",
    "Bound",
    "EigenfunctionClassifier",
    "GraphNodes",
    "GraphSplit",
    "GraphStacking",
    "HFSClassifier",
    "HomophilyWarning",
    "LateLabelsWarning",
    "NearestLabelClassifier",
    "NeighborMeans",
    "PoissonClassifier",
    "SimpleHFSClassifier",
    "SparseHFSClassifier",
    "SparseHFSRegressor",
    "StableHFSClassifier",
    "StableHFSRegressor",
    "SubsampledHFSClassifier",
    "UnreachedWarning",
    "cross_validate",
    "detection_report",
    "find_positives",
    "flag_positives",
]
