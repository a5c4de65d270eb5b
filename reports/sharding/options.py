"""The options that say where blocks are drawn, the same for every command."""

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import click

from ..shell.options import Near

if TYPE_CHECKING:
    from ...auditors.engines import Engine

Command = Callable[..., None]
ENGINE = ("backend", "scheduler", "address")
"""Options that make an engine."""


def engines(*backends: str) -> Callable[[Command], Command]:
    """Options --backend, --scheduler and --address of a command that can use these backends."""

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--address", metavar="ADDRESS", help="A running ray cluster, or auto."),
            click.option(
                "--scheduler", metavar="ADDRESS", help="A dask scheduler, as tcp://10.0.0.5:8786."
            ),
            click.option(
                "--backend", type=Near(list(backends)), help="What draws in --workers  "
                "[default: processes of this machine]",
            ),
        ):  # fmt: skip
            command = option(command)
        return command

    return decorate


def engine_of(given: MutableMapping[str, Any]) -> "Engine | None":
    """Take the options of `engines` out of what was given; None where there are none.

    An address says which backend is meant. Raises InvalidArgument where two contradict.
    """
    from ...auditors.engines import Engine
    from ...auditors.errors import InvalidArgument

    backend = given.pop("backend", None)
    addresses = {"dask": given.pop("scheduler", None), "ray": given.pop("address", None)}
    named = {kind: address for kind, address in addresses.items() if address}
    if len(named) > 1:
        raise InvalidArgument(
            "--scheduler is of dask and --address of ray; give one of them, as one run has one "
            "engine"
        )
    for kind, address in named.items():
        if backend not in (None, kind):
            option = "--scheduler" if kind == "dask" else "--address"
            raise InvalidArgument(
                f"{option} is an address of {kind}, but --backend is {backend}; leave one out"
            )
        return Engine(backend=kind, address=address)
    return Engine(backend=backend) if backend else None
