"""pure-ldp clients: local privacy of one value, seeded through the global generators."""

from functools import partial
from typing import Any

import numpy as np

from ...auditors.errors import InvalidArgument
from ...mechanisms.model import Mechanism, PrivacyClaim, Relation


def from_client(client: Any, name: str) -> Mechanism:
    """The client's `privatise` on one value; any two values are neighbours.

    Raises InvalidArgument for an object that has no `privatise`, such as a server.
    """
    if not callable(getattr(client, "privatise", None)):
        raise InvalidArgument(
            f"{name} is a {type(client).__name__} of pure-ldp; expected a client with privatise"
        )
    return Mechanism(
        name=name,
        run=partial(_privatised, client),
        seeded=False,
        reference=f"pure-ldp {type(client).__name__}",
        claims=(
            PrivacyClaim(
                epsilon=float(client.epsilon),
                relation=Relation.REPLACE_ONE,
                reference=f"pure-ldp, {type(client).__name__}.epsilon",
            ),
        ),
    )


def _privatised(client: Any, database: Any, rng: np.random.Generator) -> Any:
    return client.privatise(database)
