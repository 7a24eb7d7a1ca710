"""Every method by name.

>>> sorted(METHODS)[:3]
['audio_prototypes', 'conmix_affine', 'contextda_audio']
>>> make("tda", scale="matched").scale
'matched'
"""

from __future__ import annotations

from typing import Any

from prism_audio.errors import InputError
from prism_audio.methods.audio_prototypes import AudioPrototypes
from prism_audio.methods.base import Method
from prism_audio.methods.conmix_affine import CoNMixAffine
from prism_audio.methods.contextda import ContextDAAudio, ContextDAText
from prism_audio.methods.das import DAS
from prism_audio.methods.gaussian_em import GaussianEM
from prism_audio.methods.mean_shift import MeanShift
from prism_audio.methods.onzeta import OnZeta
from prism_audio.methods.pca_pp import PCAPlusPlus
from prism_audio.methods.prism import Prism, PrismCAR, PrismPaper, PrismReleased
from prism_audio.methods.prompt_weights import PromptWeights
from prism_audio.methods.sinkhorn import Sinkhorn
from prism_audio.methods.stata import StatA
from prism_audio.methods.subtta import SubTTA
from prism_audio.methods.tda import TDA
from prism_audio.methods.tda_paper import TDAPaper
from prism_audio.methods.tent_affine import TentAffine
from prism_audio.methods.text_mixture import TextMixture
from prism_audio.methods.transclip import TransCLIP
from prism_audio.methods.zero_shot import ZeroShot
from prism_audio.methods.zlap import ZLaP

# In the order of a table: the baseline, the paper's rivals, ours, then what the paper leaves out.
METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        ZeroShot,
        TDA,
        TDAPaper,
        PCAPlusPlus,
        SubTTA,
        TentAffine,
        CoNMixAffine,
        ContextDAText,
        ContextDAAudio,
        Prism,
        PrismPaper,
        PrismReleased,
        PrismCAR,
        MeanShift,
        Sinkhorn,
        AudioPrototypes,
        GaussianEM,
        StatA,
        TransCLIP,
        TextMixture,
        OnZeta,
        ZLaP,
        DAS,
        PromptWeights,
    )
}


def make(name: str, **parameters: Any) -> Method:
    """The method of that name; ``parameters`` replace its defaults."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; known are {', '.join(METHODS)}")
    method = METHODS[name]
    if unknown := sorted(set(parameters) - set(method.parameters())):
        known = ", ".join(method.parameters()) or "none"
        raise InputError(f"{name} has no parameter {', '.join(unknown)}; it takes: {known}")
    return method(**parameters)
