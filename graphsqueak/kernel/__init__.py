"""Kernel dictionaries: leverage scores, samplers, Nystrom features, regression, components."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BLESS": "samplers.bless",
        "Bound": "bounds",
        "ExactRLS": "samplers.baselines",
        "KORS": "samplers.kors",
        "KernelRidge": "kernel_ridge",
        "ManyStepRLS": "samplers.batch",
        "NystromPCA": "pca",
        "NystromRidge": "ridge",
        "NystromTransformer": "nystrom",
        "OnlineSampler": "samplers.landmark_stream",
        "RPCholesky": "samplers.rp_cholesky",
        "RecursiveRLS": "samplers.recursive",
        "SQUEAK": "samplers.squeak",
        "StreamingExactRLS": "samplers.baselines",
        "TwoStepRLS": "samplers.batch",
        "UniformDictionary": "samplers.baselines",
        "as_kernel": "kernels",
        "effective_dimension": "leverage",
        "estimate_leverage": "leverage",
        "leverage_scores": "leverage",
        "online_effective_dimension": "leverage",
        "online_leverage_scores": "leverage",
        "ridge_rate": "bounds",
        "ridge_risk": "bounds",
    },
)
