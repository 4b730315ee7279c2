# written by docs/generate.py; do not edit
from graphsqueak.sparsifiers.baselines import batch_sparsifier as batch_sparsifier
from graphsqueak.sparsifiers.baselines import kors_sparsifier as kors_sparsifier
from graphsqueak.sparsifiers.baselines import uniform_sparsifier as uniform_sparsifier
from graphsqueak.sparsifiers.budget import StreamOptions as StreamOptions
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos as BlockLanczos
from graphsqueak.sparsifiers.certificate.certificate import Certificate as Certificate
from graphsqueak.sparsifiers.certificate.certify import certify as certify
from graphsqueak.sparsifiers.config import SparsifyConfig as SparsifyConfig
from graphsqueak.sparsifiers.cost import CostEstimate as CostEstimate
from graphsqueak.sparsifiers.cost import estimate_cost as estimate_cost
from graphsqueak.sparsifiers.cut_comparison import CutComparison as CutComparison
from graphsqueak.sparsifiers.cut_comparison import compare_cuts as compare_cuts
from graphsqueak.sparsifiers.forecast import Forecast as Forecast
from graphsqueak.sparsifiers.merge_files import merge_edge_files as merge_edge_files
from graphsqueak.sparsifiers.result import SparsifyResult as SparsifyResult
from graphsqueak.sparsifiers.run import run_sparsify as run_sparsify
from graphsqueak.sparsifiers.run_page import write_report as write_report
from graphsqueak.sparsifiers.stream.kelner_levin import kelner_levin_copies as kelner_levin_copies
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier as StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier as TimedSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import load_stream as load_stream
from graphsqueak.sparsifiers.subgraph.low_stretch_forest import low_stretch_forest as low_stretch_forest
from graphsqueak.sparsifiers.subgraph.subgraph import subgraph_sparsifier as subgraph_sparsifier
from graphsqueak.sparsifiers.tree.parts import grow_tree as grow_tree

__all__ = [
    "BlockLanczos",
    "Certificate",
    "CostEstimate",
    "CutComparison",
    "Forecast",
    "SparsifyConfig",
    "SparsifyResult",
    "StreamOptions",
    "StreamSparsifier",
    "TimedSparsifier",
    "batch_sparsifier",
    "certify",
    "compare_cuts",
    "estimate_cost",
    "grow_tree",
    "kelner_levin_copies",
    "kors_sparsifier",
    "load_stream",
    "low_stretch_forest",
    "merge_edge_files",
    "run_sparsify",
    "subgraph_sparsifier",
    "uniform_sparsifier",
    "write_report",
]
