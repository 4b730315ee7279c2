# written by docs/generate.py; do not edit
from graphsqueak.online.baselines.budget import BOGD as BOGD
from graphsqueak.online.baselines.budget import BPAS as BPAS
from graphsqueak.online.baselines.budget import Forgetron as Forgetron
from graphsqueak.online.baselines.budget import RBP as RBP
from graphsqueak.online.baselines.fourier import DualSGD as DualSGD
from graphsqueak.online.baselines.fourier import FOGD as FOGD
from graphsqueak.online.baselines.kernel_descent import KernelOGD as KernelOGD
from graphsqueak.online.baselines.kernel_descent import NOGD as NOGD
from graphsqueak.online.baselines.projectron import Projectron as Projectron
from graphsqueak.online.baselines.projectron import ProjectronPP as ProjectronPP
from graphsqueak.online.bounds import kons_regret as kons_regret
from graphsqueak.online.bounds import pros_n_kons_regret as pros_n_kons_regret
from graphsqueak.online.bounds import skegd_regret as skegd_regret
from graphsqueak.online.bounds import sketch_error as sketch_error
from graphsqueak.online.bounds import sketched_kons_regret as sketched_kons_regret
from graphsqueak.online.evaluation import PrequentialRun as PrequentialRun
from graphsqueak.online.evaluation import flipped_blocks as flipped_blocks
from graphsqueak.online.evaluation import run_prequential as run_prequential
from graphsqueak.online.kons import KONS as KONS
from graphsqueak.online.kons import SketchedKONS as SketchedKONS
from graphsqueak.online.losses import get_loss as get_loss
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
    "PrequentialRun",
    "Projectron",
    "ProjectronPP",
    "RBP",
    "SkeGD",
    "SketchedKONS",
    "WidthMixture",
    "flipped_blocks",
    "get_loss",
    "kons_regret",
    "learn_table",
    "pros_n_kons_regret",
    "run_prequential",
    "skegd_regret",
    "sketch_error",
    "sketched_kons_regret",
]
