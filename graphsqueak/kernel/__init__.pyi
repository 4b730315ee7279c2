# written by docs/generate.py; do not edit
from graphsqueak.kernel.bounds import Bound as Bound
from graphsqueak.kernel.bounds import ridge_rate as ridge_rate
from graphsqueak.kernel.bounds import ridge_risk as ridge_risk
from graphsqueak.kernel.kernel_ridge import KernelRidge as KernelRidge
from graphsqueak.kernel.kernels import as_kernel as as_kernel
from graphsqueak.kernel.leverage import effective_dimension as effective_dimension
from graphsqueak.kernel.leverage import estimate_leverage as estimate_leverage
from graphsqueak.kernel.leverage import leverage_scores as leverage_scores
from graphsqueak.kernel.leverage import online_effective_dimension as online_effective_dimension
from graphsqueak.kernel.leverage import online_leverage_scores as online_leverage_scores
from graphsqueak.kernel.nystrom import NystromTransformer as NystromTransformer
from graphsqueak.kernel.pca import NystromPCA as NystromPCA
from graphsqueak.kernel.ridge import NystromRidge as NystromRidge
from graphsqueak.kernel.samplers.baselines import ExactRLS as ExactRLS
from graphsqueak.kernel.samplers.baselines import StreamingExactRLS as StreamingExactRLS
from graphsqueak.kernel.samplers.baselines import UniformDictionary as UniformDictionary
from graphsqueak.kernel.samplers.batch import ManyStepRLS as ManyStepRLS
from graphsqueak.kernel.samplers.batch import TwoStepRLS as TwoStepRLS
from graphsqueak.kernel.samplers.bless import BLESS as BLESS
from graphsqueak.kernel.samplers.kors import KORS as KORS
from graphsqueak.kernel.samplers.landmark_stream import OnlineSampler as OnlineSampler
from graphsqueak.kernel.samplers.recursive import RecursiveRLS as RecursiveRLS
from graphsqueak.kernel.samplers.rp_cholesky import RPCholesky as RPCholesky
from graphsqueak.kernel.samplers.squeak import SQUEAK as SQUEAK

__all__ = [
    "BLESS",
    "Bound",
    "ExactRLS",
    "KORS",
    "KernelRidge",
    "ManyStepRLS",
    "NystromPCA",
    "NystromRidge",
    "NystromTransformer",
    "OnlineSampler",
    "RPCholesky",
    "RecursiveRLS",
    "SQUEAK",
    "StreamingExactRLS",
    "TwoStepRLS",
    "UniformDictionary",
    "as_kernel",
    "effective_dimension",
    "estimate_leverage",
    "leverage_scores",
    "online_effective_dimension",
    "online_leverage_scores",
    "ridge_rate",
    "ridge_risk",
]
