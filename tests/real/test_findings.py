"""Every page of docs/findings, run again as it is printed, in environments made anew.

    pytest -m real tests/real/test_findings.py

Most packages draw from the operating system; what is refuted here would be missed with a
probability far below 1e-6 at these numbers of draws.
"""

import pytest

from docs.findings.__main__ import names, run_again

pytestmark = pytest.mark.real


@pytest.mark.parametrize("name", names())
def test_a_page_says_what_comes(name):
    assert run_again(name) == []
