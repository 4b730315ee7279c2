"""Online learning with kernels: Newton steps on dictionaries, and what they are compared with."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BKONS": "pros_n_kons",
        "CONKONS": "pros_n_kons",
        "DualSGD": "dual_sgd",
        "FOGD": "fourier",
        "KONS": "kons",
        "KernelOGD": "kernel_ogd",
        "NOGD": "nystrom_ogd",
        "PROSNKONS": "pros_n_kons",
        "Run": "evaluation",
        "SkeGD": "skegd",
        "SketchedKONS": "sketched_kons",
        "flipped_blocks": "adversary",
        "loss_of": "losses",
        "progressive": "evaluation",
    },
)
