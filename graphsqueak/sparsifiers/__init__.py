"""Sparsifiers of graphs: the stream, its certificate, and effective resistances."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BlockLanczos": "certificate.block_lanczos",
        "Certificate": "certificate.certificate",
        "Forecast": "forecast",
        "CostEstimate": "cost",
        "CutComparison": "cut_comparison",
        "SparsifyConfig": "config",
        "SparsifyResult": "result",
        "StreamOptions": "budget",
        "StreamSparsifier": "stream.stream_sparsifier",
        "TimedSparsifier": "stream.timed_sparsifier",
        "batch_sparsifier": "baselines",
        "certify": "certificate.certify",
        "compare_cuts": "cut_comparison",
        "estimate_cost": "cost",
        "grow_tree": "tree.parts",
        "kors_sparsifier": "baselines",
        "load_stream": "stream.timed_sparsifier",
        "low_stretch_forest": "subgraph.low_stretch_forest",
        "merge_edge_files": "merge_files",
        "run_sparsify": "run",
        "subgraph_sparsifier": "subgraph.subgraph",
        "kelner_levin_copies": "stream.kelner_levin",
        "uniform_sparsifier": "baselines",
        "write_report": "run_page",
    },
)
