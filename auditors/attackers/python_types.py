"""The attacker who sees the Python object: of which type every part of an output is.

`sum` of an empty array is the int 0 and of any other a float, `max(0, x)` is an int where it
clamps. Who gets the object, pickled or in the same program, reads the type; who reads the released
number does not. So values are judged apart from types, and this attacker judges both together: a
type that tells more than its value does breaks the claim for it.
"""

from ..outputs.outputs import Outputs


def with_types(raw: object, count: int) -> dict[str, object]:
    """What run(database, rng, size=count) returned, with the types of each output beside it."""
    types = Outputs.of(raw, count).types
    assert types is not None
    return {"value": raw, "types": [types.names[code] for code in types.codes.tolist()]}
