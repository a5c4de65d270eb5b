"""Flower: one client's update as its local differential privacy sends it, from weights of zero."""

import logging

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp.mod import LocalDpMod
from flwr.compat.common.parameter import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.supercore.differential_privacy import (
    add_localdp_gaussian_noise_to_params,
    compute_clip_model_update,
)
from flwr.supercore.task_identity import TaskIdentity

TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
logging.getLogger("flwr").setLevel(logging.ERROR)


def through_the_mod(update, rng):
    """What the server gets from a client whose training moves the one weight by `update`."""

    def trained(message, context):
        weights = ArrayRecord([np.array([float(update)])])
        return Message(RecordDict({"arrays": weights}), reply_to=message)

    start = RecordDict({"arrays": ArrayRecord([np.array([0.0])])})
    mod = LocalDpMod(clipping_norm=1.0, sensitivity=1.0, epsilon=4.0, delta=1e-5)
    reply = mod(Message(start, dst_node_id=1, message_type="train"), None, trained)
    return float(reply.content["arrays"].to_numpy_ndarrays()[0][0])


def sent(update, sensitivity):
    """The two steps that the mod takes, without its messages, which take most of the time."""
    weights = [np.array([float(update)])]
    compute_clip_model_update(weights, [np.array([0.0])], 1.0)
    noisy = add_localdp_gaussian_noise_to_params(
        ndarrays_to_parameters(weights), sensitivity, 4.0, 1e-5
    )
    return float(parameters_to_ndarrays(noisy)[0][0])


def sensitivity_one(update, rng):
    return sent(update, 1.0)


def sensitivity_two(update, rng):
    return sent(update, 2.0)
