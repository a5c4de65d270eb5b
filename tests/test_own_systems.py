"""Every system is put together on a user's own data in at most ten lines, and works."""

import re
from pathlib import Path

import numpy as np
import pytest

from dpwitness import Mechanism, PrivacyClaim
from dpwitness.auditors.outputs.encoding import canonical

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "own-systems.md"
PARTS = dict(
    re.findall(r"^## ([^\n]+)\n.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
)
MOST = 10


def lines_of(code):
    """The lines that do something; imports are not what a system takes."""
    return [line for line in code.splitlines() if line and not line.startswith(("import", "from"))]


def test_the_page_has_the_thirteen_systems_and_more():
    assert len(PARTS) >= 13


@pytest.mark.parametrize("title", PARTS)
def test_a_system_takes_ten_lines_and_releases_on_own_data(title):
    assert len(lines_of(PARTS[title])) <= MOST
    names = {}
    exec(compile(PARTS[title], str(PAGE), "exec"), names)
    mechanism, data = names["mechanism"], names["data"]
    assert isinstance(mechanism, Mechanism)
    assert any(isinstance(claim, PrivacyClaim) for claim in mechanism.claims)
    before = canonical(data)
    released = [canonical(mechanism(data, np.random.default_rng(seed))) for seed in (0, *range(12))]
    assert released[0] == released[1]
    assert len(set(released)) > 1
    assert canonical(data) == before
