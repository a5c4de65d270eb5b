"""Multi-Freq-LDPy: what one user sends, at epsilon 1."""

from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client


def subset(value, rng):
    return [int(item) for item in SS_Client(value, 10, 1.0)]


def sorted_subset(value, rng):
    return sorted(int(item) for item in SS_Client(value, 10, 1.0))


def two_attributes(pair, rng):
    return [int(item) for item in RSpFD_GRR_Client(tuple(pair), [3, 3], 2, 1.0)]


def one_of_two_attributes(value, rng):
    return two_attributes((value, 0), rng)


def response(value, rng):
    return int(GRR_Client(value, 10, 1.0))


def unary(value, rng):
    return [int(bit) for bit in UE_Client(value, 3, 1.0)]


def longitudinal(value, rng):
    return [int(bit) for bit in L_SUE_Client(value, 3, 2.0, 1.0)]
