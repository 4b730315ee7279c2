"""Online learning with kernels: Newton steps on dictionaries, and what they are compared with."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BKONS": "pros_n_kons",
        "BOGD": "budgets",
        "BPAS": "budgets",
        "CONKONS": "pros_n_kons",
        "DualSGD": "fourier",
        "FOGD": "fourier",
        "Forgetron": "perceptrons",
        "KONS": "kons",
        "KernelOGD": "gradient",
        "NOGD": "nystrom_ogd",
        "PROSNKONS": "pros_n_kons",
        "Projectron": "perceptrons",
        "ProjectronPP": "perceptrons",
        "RBP": "perceptrons",
        "Run": "evaluation",
        "SkeGD": "skegd",
        "SketchedKONS": "kons",
        "WidthMixture": "width_mixture",
        "flipped_blocks": "evaluation",
        "kons_regret": "bounds",
        "learn_table": "table",
        "loss_of": "losses",
        "progressive": "evaluation",
        "pros_n_kons_regret": "bounds",
        "skegd_regret": "bounds",
        "sketch_error": "bounds",
        "sketched_kons_regret": "bounds",
    },
)
