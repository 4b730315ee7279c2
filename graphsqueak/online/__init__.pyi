# written by docs/generate.py; do not edit
from graphsqueak.online.bounds import kons_regret as kons_regret
from graphsqueak.online.bounds import pros_n_kons_regret as pros_n_kons_regret
from graphsqueak.online.bounds import skegd_regret as skegd_regret
from graphsqueak.online.bounds import sketch_error as sketch_error
from graphsqueak.online.bounds import sketched_kons_regret as sketched_kons_regret
from graphsqueak.online.budgets import BOGD as BOGD
from graphsqueak.online.budgets import BPAS as BPAS
from graphsqueak.online.evaluation import Run as Run
from graphsqueak.online.evaluation import flipped_blocks as flipped_blocks
from graphsqueak.online.evaluation import progressive as progressive
from graphsqueak.online.fourier import DualSGD as DualSGD
from graphsqueak.online.fourier import FOGD as FOGD
from graphsqueak.online.gradient import KernelOGD as KernelOGD
from graphsqueak.online.kons import KONS as KONS
from graphsqueak.online.kons import SketchedKONS as SketchedKONS
from graphsqueak.online.losses import loss_of as loss_of
from graphsqueak.online.nystrom_ogd import NOGD as NOGD
from graphsqueak.online.perceptrons import Forgetron as Forgetron
from graphsqueak.online.perceptrons import Projectron as Projectron
from graphsqueak.online.perceptrons import ProjectronPP as ProjectronPP
from graphsqueak.online.perceptrons import RBP as RBP
from graphsqueak.online.pros_n_kons import BKONS as BKONS
from graphsqueak.online.pros_n_kons import CONKONS as CONKONS
from graphsqueak.online.pros_n_kons import PROSNKONS as PROSNKONS
from graphsqueak.online.skegd import SkeGD as SkeGD
from graphsqueak.online.table import learn_table as learn_table
from graphsqueak.online.width_mixture import WidthMixture as WidthMixture

__all__ = [
    "BKONS",
    "BOGD",
    "BPAS",
    "CONKONS",
    "DualSGD",
    "FOGD",
    "Forgetron",
    "KONS",
    "KernelOGD",
    "NOGD",
    "PROSNKONS",
    "Projectron",
    "ProjectronPP",
    "RBP",
    "Run",
    "SkeGD",
    "SketchedKONS",
    "WidthMixture",
    "flipped_blocks",
    "kons_regret",
    "learn_table",
    "loss_of",
    "progressive",
    "pros_n_kons_regret",
    "skegd_regret",
    "sketch_error",
    "sketched_kons_regret",
]
