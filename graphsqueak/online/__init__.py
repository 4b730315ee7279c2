"""Online learning with kernels: second-order learners on dictionaries, and baselines.

`CONKONS` is the learner to start with. `run_prequential` evaluates a learner on a stream,
`learn_table` on a file of any size; `kons_regret` and others compute proved bounds on the regret.
"""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BKONS": "pros_n_kons",
        "BOGD": "baselines.budget",
        "BPAS": "baselines.budget",
        "CONKONS": "pros_n_kons",
        "DualSGD": "baselines.fourier",
        "FOGD": "baselines.fourier",
        "Forgetron": "baselines.budget",
        "KONS": "kons",
        "KernelOGD": "baselines.kernel_descent",
        "NOGD": "baselines.kernel_descent",
        "PROSNKONS": "pros_n_kons",
        "PrequentialRun": "evaluation",
        "Projectron": "baselines.projectron",
        "ProjectronPP": "baselines.projectron",
        "RBP": "baselines.budget",
        "SkeGD": "skegd",
        "SketchedKONS": "kons",
        "WidthMixture": "width_mixture",
        "flipped_blocks": "evaluation",
        "get_loss": "losses",
        "kons_regret": "bounds",
        "learn_table": "table",
        "pros_n_kons_regret": "bounds",
        "run_prequential": "evaluation",
        "skegd_regret": "bounds",
        "sketch_error": "bounds",
        "sketched_kons_regret": "bounds",
    },
)
