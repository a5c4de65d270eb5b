"""NVIDIA FLARE: three weight differences through the filter of the sparse vector technique."""

import logging

import numpy as np
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.disable(logging.CRITICAL)


def filtered(weights, rng, fraction=0.3, replace=True):
    """What leaves the client: epsilon 1 to choose one weight, 1 to release it."""
    made = SVTPrivacy(
        fraction=fraction, epsilon=1.0, epsilon_release=1.0, gamma=1.0, tau=0.5, replace=replace
    )
    data = DXO(data_kind=DataKind.WEIGHT_DIFF, data={"w": np.array(weights, dtype=float)})
    return made.process_dxo(data, Shareable(), FLContext()).data["w"].tolist()
