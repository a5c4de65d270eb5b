"""The settings of a project: `[tool.dpwitness]` in pyproject.toml, or dpwitness.toml.

    [tool.dpwitness]
    alpha = 1e-3              # of the whole run: the chance that anything sound fails it
    profile = "ci"            # "dev", "ci", "nightly", or one of [tool.dpwitness.profiles]
    trials = 200_000          # runs per database for each audit
    seconds = 20              # or a wall-clock budget for each audit
    precision = "none"        # once refuted: stop; 0.05: when the bound is known to 5 %; 0: never
    seed = 0                  # or "random": another one in every run, printed
    inconclusive = "warn"     # or "fail"
    directory = ".dpwitness"  # witnesses and history
    lock = "dpwitness.lock"   # the shares of alpha, once committed
    workers = 8               # processes to draw in, by
    backend = "dask"          # or "ray", in place of processes on this machine
    scheduler = "tcp://..."   # a dask scheduler; address = "..." is that of a ray cluster

A profile is a table of the same keys; what stands in [tool.dpwitness] itself has precedence over
the built-in profiles, and a profile of the project's own over that.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ...auditors.arguments import meant
from ...auditors.asked import ASKED, default

PROFILES: dict[str, dict[str, object]] = {
    "dev": {"trials": 50_000, "seed": 0},
    "ci": {"trials": 200_000, "seed": 0},
    "nightly": {"trials": 2_000_000, "seed": "random"},
}
"""Runs per database and the seed of each profile; what a project sets itself replaces them."""
NOT_SETTINGS = {"profiles", "gate"}


class SettingsError(ValueError):
    """A setting that cannot be used, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How audits are run in a project; `trials` draws a side unless `seconds` are given.

    `precision` is that of `Budget`, with "none" for None: a run in CI stops once refuted.
    """

    alpha: float = default("alpha")
    profile: str = "ci"
    trials: int = default("trials")
    notice: float | None = None
    seconds: float | None = None
    precision: float | str = "none"
    seed: int | None = default("seed")
    inconclusive: str = "warn"
    directory: str = ".dpwitness"
    lock: str = "dpwitness.lock"
    workers: int | None = None
    backend: str | None = None
    scheduler: str | None = None
    address: str | None = None

    @property
    def budget(self) -> str:
        """What bounds depend on, so that nobody wonders why another command gives another one."""
        trials = f"{self.trials:,} trials"
        if self.notice is not None:
            trials = f"trials that notice {self.notice:g} times the claim"
        if self.seconds is not None:
            trials += f" in at most {self.seconds:g} s"
        return f"{trials}, precision {self.precision}"


def find_table(root: Path) -> tuple[Mapping[str, Any], str]:
    """The table of settings and the name of the file it stands in; empty where there is none."""
    for name in ("dpwitness.toml", "pyproject.toml"):
        path = root / name
        try:
            if not path.is_file():
                continue
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise SettingsError(f"{name} cannot be read ({error.strerror or error})") from None
        except UnicodeDecodeError:
            raise SettingsError(f"{name} is not UTF-8 text; save it as UTF-8") from None
        except RecursionError:
            raise SettingsError(f"{name} is nested too deeply; correct it") from None
        except ValueError as error:  # of TOML, of UTF-8, and of numbers with thousands of digits
            raise SettingsError(f"{name} is not TOML ({error}); correct it") from None
        table: Mapping[str, object] = data
        for key in () if name == "dpwitness.toml" else ("tool", "dpwitness"):
            inner = table.get(key, {})
            if not isinstance(inner, Mapping):
                raise SettingsError(f"{key} in {name} must be a table, got {inner!r:.60}")
            table = inner
        if table:
            return table, name
    return {}, "pyproject.toml"


def read_settings(root: Path, given: Mapping[str, object] | None = None) -> Settings:
    """The settings of the project at `root`, with those `given` on the command line on top.

    Raises SettingsError, with a sentence, for a name or a value that cannot be used.
    """
    table, name = find_table(root)
    own = {key: value for key, value in table.items() if key not in NOT_SETTINGS}
    given = {key: value for key, value in (given or {}).items() if value is not None}
    profile = str(given.get("profile", own.get("profile", Settings().profile)))
    layers = [PROFILES.get(profile, {}), own]
    custom = table.get("profiles", {})
    if not isinstance(custom, Mapping):
        raise SettingsError(f"profiles in {name} must be tables of settings, got {custom!r:.60}")
    if profile in custom:
        if not isinstance(custom[profile], Mapping):
            raise SettingsError(
                f"the profile {profile!r} in {name} must be a table of settings, got "
                f"{custom[profile]!r:.60}"
            )
        layers.append(custom[profile])
    elif profile not in PROFILES:
        known = ", ".join(sorted({*PROFILES, *custom}))
        raise SettingsError(f"there is no profile {profile!r}; there are {known}")
    layers += [given, {"profile": profile}]
    merged: dict[str, object] = {}
    for layer in layers:
        # A budget in seconds replaces one in draws that a deeper layer set, and the reverse.
        if "trials" in layer and "seconds" not in layer:
            merged["seconds"] = None
        if {"trials", "seconds"} & layer.keys() and "notice" not in layer:
            merged["notice"] = None
        merged.update(layer)
    return _checked(merged, name)


def _checked(merged: Mapping[str, Any], name: str) -> Settings:
    known = {field.name for field in fields(Settings)}
    for key in merged:
        if key not in known and isinstance(merged[key], list):
            raise SettingsError(
                f"{name} has tables [[tool.dpwitness.{key}]], which dpwitness does not know; what "
                "the gate audits stands in tables [[tool.dpwitness.gate]]"
            )
        if key not in known:
            raise SettingsError(
                f"{name} has the setting {key!r}, which dpwitness does not know"
                f"{meant(key, sorted(known))}; there are {', '.join(sorted(known))}"
            )
    values = dict(merged)
    if values.get("seed") == "random":
        values["seed"] = None
    for name in ("alpha", "trials", "notice", "seconds", "precision", "seed", "workers"):
        value = values.get(name)
        if not ASKED[name].allows(value):
            or_random = ', or "random"' if name == "seed" else ""
            raise SettingsError(f"{name} must be {ASKED[name].expected}{or_random}, got {value!r}")
        if ASKED[name].kind == "whole" and value is not None:
            values[name] = int(value)
    settings = replace(Settings(), **values)
    wanted = (
        ("inconclusive", settings.inconclusive in ("warn", "fail"), '"warn" or "fail"'),
        ("directory", isinstance(settings.directory, str) and settings.directory != "",
         "the name of a folder"),
        ("backend", settings.backend in (None, "dask", "ray"), '"dask" or "ray"'),
        ("scheduler", settings.scheduler is None or isinstance(settings.scheduler, str),
         "the address of a dask scheduler"),
        ("address", settings.address is None or isinstance(settings.address, str),
         "the address of a ray cluster"),
        ("lock", isinstance(settings.lock, str) and settings.lock != "", "the name of a file"),
    )  # fmt: skip
    for key, holds, expected in wanted:
        if not holds:
            raise SettingsError(f"{key} must be {expected}, got {getattr(settings, key)!r}")
    return settings
