"""Whatever bytes others send, each parser reads or refuses them."""

from __future__ import annotations

import pytest

from inferry.tests.fuzz import fuzz, parsers

pytestmark = pytest.mark.faults
CASES = 10_000


@pytest.mark.parametrize("name", parsers())
def test_it_reads_or_refuses(name: str) -> None:
    told = fuzz(parsers()[name], CASES)
    assert told.read > 0, told
    assert told.refused > 0, told
    assert told.kept > len(parsers()[name].seeds), told
