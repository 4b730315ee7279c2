"""Kernel dictionaries: leverage scores, samplers in one pass or many, Nystrom, regression, PCA."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BLESS": "bless",
        "Bound": "bounds",
        "ExactRLS": "batch",
        "KORS": "kors",
        "ManyStepRLS": "batch",
        "NystromPCA": "pca",
        "NystromRidge": "ridge",
        "NystromTransformer": "nystrom",
        "OnlineSampler": "kors",
        "RecursiveRLS": "recursive",
        "SQUEAK": "squeak",
        "TwoStepRLS": "batch",
        "UniformDictionary": "batch",
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
