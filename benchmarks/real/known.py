"""The cases of this folder: what is installed, what is called, and a sampler for any auditor.

    from known import cases, sampler

    for case in cases():
        draw = sampler(case, Path("environments"))
        outputs = draw(database, 1000, seed)

`draw(database, n, seed)` returns n outputs as a list, drawn by the release that the case names in
an environment of its own; the seed is used where the package can be seeded (`seeded`). A case has
`epsilon` in nats, `delta` and `relation`; `example(case)` is a pair of neighbours. An auditor is
right if it finds a violation where `case["wanted"]` is "refuted", and none elsewhere. Packages are
installed, loaded and run: this is for a machine on which one would do that.
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tomllib
import venv
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dpwitness.auditors.remote import from_command, from_python

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATIENCE = 120.0
"""Seconds that a call may take."""


def cases(which="cases"):
    """The rows of cases.toml or attackers.toml, one for each set of packages."""
    for case in tomllib.loads((HERE / f"{which}.toml").read_text(encoding="utf-8"))["case"]:
        wanted = "not refuted" if case.get("sound") else "refuted"
        case = {"wanted": wanted, "epsilon": 1.0, "delta": 0.0, **case}
        yield case
        if "mended" in case:
            name = f"{case['name']}, mended"
            yield {**case, "name": name, "packages": case["mended"], "wanted": "not refuted"}


def release(case):
    """The package and version that the case is about."""
    return [*case.get("packages", ()), *case.get("npm", ()), "dpwitness 0.1.0"][0]


def environment(case, folder):
    """The interpreter (or, of npm, the folder) of an environment, made where there is none."""
    npm, packages = "npm" in case, case.get("npm") or case.get("packages") or ()
    if not packages:
        return Path(sys.executable)
    key = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    home = folder.resolve() / key
    if not (home / "made").exists():
        if npm:
            home.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                ["npm", "install", "--silent", "--prefix", str(home), *packages], check=True
            )
        else:
            venv.create(home, with_pip=True, clear=True)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q"]
            alone = case.get("alone", False)
            if alone:
                subprocess.run([*pip, "--no-deps", packages[0]], check=True)
            subprocess.run([*pip, *packages[alone:]], check=True)
        (home / "made").write_text("\n".join(packages), encoding="utf-8")
    return home if npm else home / "bin" / "python"


def called(case, folder, scratch):
    """How the mechanism is named to dpwitness: options with the target, and variables it needs.

    Listings of a page of docs/findings are written to `scratch`.
    """
    place = HERE / "calls"
    if "page" in case:
        sys.path.insert(0, str(ROOT))
        from docs.findings.__main__ import read

        place = Path(scratch)
        for name, text in read(case["page"]).files.items():
            (place / name).write_text(text, encoding="utf-8")
    home = environment(case, folder)
    if "command" in case:
        program, *rest = shlex.split(case["command"])
        words = [program, *(str(place / w) if (place / w).exists() else w for w in rest)]
        return {"command": shlex.join(words)}, {"NODE_PATH": str(home / "node_modules")}
    return {"target": str(place / case["target"]), "python": str(home)}, {}


def example(case):
    """A pair of databases, on which the claim fails or is nearly tight."""
    return tuple(json.loads(side) for side in case.get("pair") or case["example"])


def sampler(case, folder):
    """`draw(database, n, seed)`, a list of n outputs; the process ends with the function."""
    scratch = TemporaryDirectory()
    named, surroundings = called(case, Path(folder), scratch.name)
    os.environ.update(surroundings)
    if "command" in named:
        mechanism = from_command(named["command"], PATIENCE)
    else:
        mechanism = from_python(named["python"], named["target"], PATIENCE)

    def draw(database, n, seed):
        return list(mechanism.run(database, np.random.default_rng(seed), size=n))

    weakref.finalize(draw, scratch.cleanup)
    return draw
