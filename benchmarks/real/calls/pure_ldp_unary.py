"""pure-ldp: one report of a client with unary encoding."""

from pure_ldp.frequency_oracles.unary_encoding import UEClient

PLAIN = UEClient(epsilon=1, d=2, index_mapper=lambda value: value)
OPTIMISED = UEClient(epsilon=1, d=2, use_oue=True, index_mapper=lambda value: value)
HALF = UEClient(epsilon=0.5, d=2, index_mapper=lambda value: value)


def plain(value, rng):
    return tuple(int(bit) for bit in PLAIN.privatise(value))


def optimised(value, rng):
    return tuple(int(bit) for bit in OPTIMISED.privatise(value))


def half(value, rng):
    return tuple(int(bit) for bit in HALF.privatise(value))
