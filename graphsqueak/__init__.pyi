# written by docs/generate.py; do not edit
from graphsqueak.analysis import Comparison as Comparison
from graphsqueak.analysis import compare as compare
from graphsqueak.errors import AccuracyWarning as AccuracyWarning
from graphsqueak.errors import ConvergenceWarning as ConvergenceWarning
from graphsqueak.errors import DistanceWeightsWarning as DistanceWeightsWarning
from graphsqueak.errors import InputError as InputError
from graphsqueak.graph import EdgeList as EdgeList
from graphsqueak.graph import TimedEdges as TimedEdges
from graphsqueak.mail import SpamFilter as SpamFilter
from graphsqueak.outofcore import StreamedSolver as StreamedSolver
from graphsqueak.outofcore import effective_resistance as effective_resistance
from graphsqueak.outofcore import smallest_eigenpairs as smallest_eigenpairs
from graphsqueak.solvers import LaplacianSolver as LaplacianSolver
from graphsqueak.sources import EdgeSource as EdgeSource
from graphsqueak.sources import info as info
from graphsqueak.sources import neighbor_edges as neighbor_edges
from graphsqueak.sources import read_edges as read_edges
from graphsqueak.sources import read_projection as read_projection
from graphsqueak.sources import write_edges as write_edges
from graphsqueak.sparsifiers import Certificate as Certificate
from graphsqueak.sparsifiers import StreamOptions as StreamOptions
from graphsqueak.sparsifiers import StreamSparsifier as StreamSparsifier
from graphsqueak.sparsifiers import TimedSparsifier as TimedSparsifier
from graphsqueak.sparsifiers import certify as certify
from graphsqueak.sparsifiers.sparsify import sparsify as sparsify
from graphsqueak.ssl import EigenfunctionClassifier as EigenfunctionClassifier
from graphsqueak.ssl import GraphNodes as GraphNodes
from graphsqueak.ssl import GraphSplit as GraphSplit
from graphsqueak.ssl import GraphStacking as GraphStacking
from graphsqueak.ssl import HFSClassifier as HFSClassifier
from graphsqueak.ssl import NearestLabelClassifier as NearestLabelClassifier
from graphsqueak.ssl import NeighborMeans as NeighborMeans
from graphsqueak.ssl import PoissonClassifier as PoissonClassifier
from graphsqueak.ssl import SimpleHFSClassifier as SimpleHFSClassifier
from graphsqueak.ssl import SparseHFSClassifier as SparseHFSClassifier
from graphsqueak.ssl import SparseHFSRegressor as SparseHFSRegressor
from graphsqueak.ssl import StableHFSClassifier as StableHFSClassifier
from graphsqueak.ssl import StableHFSRegressor as StableHFSRegressor
from graphsqueak.ssl import SubsampledHFSClassifier as SubsampledHFSClassifier
from graphsqueak.ssl import cross_validate as cross_validate

from . import analysis as analysis
from . import datasets as datasets
from . import integrations as integrations
from . import kernel as kernel
from . import mail as mail
from . import online as online
from . import outofcore as outofcore
from . import solvers as solvers
from . import sources as sources
from . import sparsifiers as sparsifiers
from . import ssl as ssl

__version__: str

__all__ = [
    "AccuracyWarning",
    "Certificate",
    "Comparison",
    "ConvergenceWarning",
    "DistanceWeightsWarning",
    "EdgeList",
    "EdgeSource",
    "EigenfunctionClassifier",
    "GraphNodes",
    "GraphSplit",
    "GraphStacking",
    "HFSClassifier",
    "InputError",
    "LaplacianSolver",
    "NearestLabelClassifier",
    "NeighborMeans",
    "PoissonClassifier",
    "SimpleHFSClassifier",
    "SpamFilter",
    "SparseHFSClassifier",
    "SparseHFSRegressor",
    "StableHFSClassifier",
    "StableHFSRegressor",
    "StreamOptions",
    "StreamSparsifier",
    "StreamedSolver",
    "SubsampledHFSClassifier",
    "TimedEdges",
    "TimedSparsifier",
    "analysis",
    "certify",
    "compare",
    "cross_validate",
    "datasets",
    "effective_resistance",
    "info",
    "integrations",
    "kernel",
    "mail",
    "neighbor_edges",
    "online",
    "outofcore",
    "read_edges",
    "read_projection",
    "smallest_eigenpairs",
    "solvers",
    "sources",
    "sparsifiers",
    "sparsify",
    "ssl",
    "write_edges",
]
