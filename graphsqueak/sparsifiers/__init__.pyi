# written by docs/generate.py; do not edit
from graphsqueak.sparsifiers.baselines import batch_sparsifier as batch_sparsifier
from graphsqueak.sparsifiers.baselines import kors_sparsifier as kors_sparsifier
from graphsqueak.sparsifiers.baselines import uniform_sparsifier as uniform_sparsifier
from graphsqueak.sparsifiers.budget import StreamOptions as StreamOptions
from graphsqueak.sparsifiers.certificate.block_lanczos import BlockLanczos as BlockLanczos
from graphsqueak.sparsifiers.certificate.certificate import Certificate as Certificate
from graphsqueak.sparsifiers.certificate.certify import certify as certify
from graphsqueak.sparsifiers.forecast import Forecast as Forecast
from graphsqueak.sparsifiers.merge_files import merge_edge_files as merge_edge_files
from graphsqueak.sparsifiers.plan import RunPlan as RunPlan
from graphsqueak.sparsifiers.resistance.effective import effective_resistance as effective_resistance
from graphsqueak.sparsifiers.result import RunResult as RunResult
from graphsqueak.sparsifiers.run import run_plan as run_plan
from graphsqueak.sparsifiers.run_page import write_report as write_report
from graphsqueak.sparsifiers.stream.kelner_levin import thesis_copies as thesis_copies
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier as StreamSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import TimedSparsifier as TimedSparsifier
from graphsqueak.sparsifiers.stream.timed_sparsifier import load_stream as load_stream
from graphsqueak.sparsifiers.subgraph.backbone import low_stretch_forest as low_stretch_forest
from graphsqueak.sparsifiers.subgraph.subgraph import subgraph_sparsifier as subgraph_sparsifier
from graphsqueak.sparsifiers.tree.parts import grow_tree as grow_tree
from graphsqueak.sparsifiers.tree.plan import CostEstimate as CostEstimate
from graphsqueak.sparsifiers.tree.plan import estimate_cost as estimate_cost

__all__ = [
    "BlockLanczos",
    "Certificate",
    "CostEstimate",
    "Forecast",
    "RunPlan",
    "RunResult",
    "StreamOptions",
    "StreamSparsifier",
    "TimedSparsifier",
    "batch_sparsifier",
    "certify",
    "effective_resistance",
    "estimate_cost",
    "grow_tree",
    "kors_sparsifier",
    "load_stream",
    "low_stretch_forest",
    "merge_edge_files",
    "run_plan",
    "subgraph_sparsifier",
    "thesis_copies",
    "uniform_sparsifier",
    "write_report",
]
