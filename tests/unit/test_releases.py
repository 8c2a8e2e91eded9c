"""Which of a model's releases is chosen."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import VersionNotFound
from inferry.catalog.releases import choose
from inferry.catalog.values.model import Release
from inferry.catalog.values.names import ModelName, parse_request
from inferry.tests.catalogs import variant

if TYPE_CHECKING:
    from inferry.catalog.values.version import Channel


def release(version: str, channel: Channel = "stable") -> Release:
    return Release(
        name=ModelName("acme/thing"),
        version=version,
        channel=channel,
        license="MIT",
        summary="A thing",
        task="image-classification",
        variants=(variant("fp32"),),
        inputs=(),
        outputs=(),
    )


THERE = (
    release("1.2.0"),
    release("1.10.0"),
    release("2.0rc1"),
    release("2.0", "preview"),
    release("2.1rc1", "preview"),
    release("3.0", "test"),
)
OLD, TEST = THERE[0].digest, THERE[-1].digest

CASES: dict[tuple[str, str | None], str | None] = {
    ("", None): "1.10.0",
    ("", "preview"): "2.1rc1",
    ("", "test"): "3.0",
    ("", "nosuch"): "1.10.0",
    ("@stable", "preview"): "1.10.0",
    ("@preview", None): "2.1rc1",
    ("@preview", "test"): "2.1rc1",
    ("@test", None): "3.0",
    ("@1", None): "1.10.0",
    ("@1.2", None): "1.2.0",
    ("@>=1,<1.5", None): "1.2.0",
    ("@2", None): None,
    ("@2", "preview"): "2.0",
    ("@>=2.0rc1", None): "2.0rc1",
    ("@>=2.0rc1", "preview"): "2.1rc1",
    ("@=2.0", None): "2.0",
    ("@=3.0", None): "3.0",
    ("@2.0rc1", None): "2.0rc1",
    ("@=4", "test"): None,
    (f"@{OLD}", None): "1.2.0",
    (f"@{TEST}", None): "3.0",
    (f"@{release('9').digest}", "test"): None,
}


@pytest.mark.parametrize(("asked", "version"), CASES.items(), ids=[f"{at[:12]} {by}" for at, by in CASES])
def test_which_is_chosen_in_whatever_order_they_come(asked: tuple[str, str | None], version: str | None) -> None:
    wanted = parse_request(f"acme/thing{asked[0]}")
    for order in list(permutations(THERE))[::90]:
        if version is None:
            with pytest.raises(VersionNotFound, match=r"acme/thing has no version that `@.+` asks for"):
                choose(order, wanted, channel=asked[1])
        else:
            assert choose(order, wanted, channel=asked[1]).version == version


def test_what_there_is_instead_is_told() -> None:
    with pytest.raises(VersionNotFound) as caught:
        choose(THERE, parse_request("acme/thing@4"))
    assert caught.value.hints() == (
        "there is acme/thing@=3.0, in channel test",
        "there is acme/thing@=2.1rc1, in channel preview",
        "there is acme/thing@=2.0, in channel preview",
        "there is acme/thing@=1.10.0",
        "there is acme/thing@=1.2.0",
    )
    with pytest.raises(VersionNotFound, match="acme/thing has no stable release") as caught:
        choose(THERE[-1:], parse_request("acme/thing"))
    assert caught.value.hints() == ("there is acme/thing@=3.0, in channel test",)
    with pytest.raises(VersionNotFound) as caught:
        choose([], parse_request("acme/thing@1"))
    assert caught.value.hints() == ()
