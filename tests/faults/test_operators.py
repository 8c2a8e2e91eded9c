"""The reader of operators under fire: a model is read as ``onnx`` reads it, or refused, in bounded time and memory."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Protocol

import msgspec
import pytest
from hypothesis import given, settings

from inferry.catalog import operators
from inferry.catalog.errors import InvalidModel
from inferry.catalog.operators import MAX_DEPTH, read_graph
from inferry.index.client.source import BUILT_IN
from inferry.tests import hostile
from inferry.tests.graphs import GOOD
from inferry.tests.hostile import bent, judge, tally
from inferry.tests.models import saved
from inferry.tests.unit.test_operators_laws import models
from inferry.tests.wire import HEAD, field, nested, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import onnx

    from inferry.catalog.values.graph import Graph

pytestmark = pytest.mark.faults
CHAINS = (b"\x0a\x2a\x32", b"\x0a\x2a\x5a", b"\x7a\x0a\x6a", b"\x0a\x0a\x2a\x32")
"""Tags within a graph: node, attribute, graph; the same by a list; sparse weights, values, external data; no chain."""
SMALL = [*(data for data, _ in GOOD.values()), nested(5)]


@pytest.mark.parametrize("seed", range(4))
def test_bent_models(seed: int) -> None:
    told = tally(islice(bent(Random(seed), SMALL), 150_000))
    assert min(told["read"], told["refused"]) > 10_000, told


def test_bent_models_of_the_built_in_index() -> None:
    released = [path.read_bytes() for path in BUILT_IN.rglob("*.onnx")]
    assert released
    told = tally(islice(bent(Random(5), released), 5_000))
    assert min(told["read"], told["refused"]) > 500, told


def test_every_byte_of_a_model_in_every_value() -> None:
    for data in (GOOD["a function"][0], GOOD["external constants"][0]):
        each = (data[:at] + bytes([byte]) + data[at + 1 :] for at in range(len(data)) for byte in range(256))
        told = tally(each)
        assert min(told["read"], told["refused"]) > 1000, told


def test_a_length_bomb_in_every_place() -> None:
    bombs = [varint(size) for power in range(0, 65, 4) for size in ((1 << power) - 1, 1 << power)]
    for data in SMALL:
        told = tally(data[:at] + bomb + data[at + 1 :] for at in range(len(data)) for bomb in bombs)
        assert told["refused"] > len(data), told


def test_every_beginning_and_every_end() -> None:
    for data in SMALL:
        assert tally(piece for at in range(len(data)) for piece in (data[:at], data[at:]))["refused"]


@settings(max_examples=3_000, deadline=None, database=None, derandomize=False, print_blob=True)
@given(models())
def test_drawn_models(made: onnx.ModelProto) -> None:
    judge(saved(made))


def chains(random: Random) -> Iterator[bytes]:
    """Yield models of up to 5,000 messages within each other, each of which claims all that is left, or a byte more."""
    while True:
        size = random.randrange(10, 20_000)
        data = bytearray(HEAD + field(7, bytes(size))[:-size])
        end = len(data) + size
        for tag in islice(cycle(random.choice(CHAINS)), random.randrange(5_000)):
            left = end - len(data) - 4 + (not random.randrange(500))
            if left < 0:
                break
            data += bytes([tag, left & 0x7F | 0x80, left >> 7 & 0x7F | 0x80, left >> 14])
        yield bytes(data) + bytes(max(0, end - len(data)))


def test_hostile_nesting() -> None:
    for depth in (MAX_DEPTH, MAX_DEPTH + 1, 1_000):
        assert judge(nested(depth)) == ("read" if depth == MAX_DEPTH else "refused")
    assert tally(islice(chains(Random(6)), 2_000))["refused"] > 1_000


def test_nothing_recurses() -> None:
    usual = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 20)
        assert read_graph(nested(MAX_DEPTH)).operators
    finally:
        sys.setrecursionlimit(usual)


ABS = field(4, b"Abs")
WORST = {
    "fields that are stepped over": HEAD + field(7, b"") + 5_000_000 * b"\x18\x00\x20\x00",
    "messages without content": HEAD + 12_000_000 * b"\x3a\x00",
    "nodes": HEAD + field(7, 1_200_000 * field(1, ABS)),
    "functions": HEAD + field(7, b"") + 10_000_000 * field(25, b""),
    "operators": HEAD + field(7, b"".join(field(1, field(4, b"A%d" % n)) for n in range(1_000_000))),
    "operators of functions": HEAD
    + field(7, b"")
    + 49_000 * field(25, field(9, field(2, 1)) + b"".join(field(7, field(4, b"A%d" % n)) for n in range(30))),
    "imports": HEAD + field(7, b"") + b"".join(field(8, field(1, b"%d" % n)) for n in range(1_000_000)),
    "numbers in a row": HEAD + field(7, field(1, ABS + field(5, 60_000_000 * b"\x40\x00"))),
}
CHILD = """
import sys, time
from pathlib import Path
from inferry.catalog.errors import InvalidModel
from inferry.catalog.operators import read_graph

def resident(name):
    return int(Path("/proc/self/status").read_text().partition(name)[2].split()[0])

data = Path(sys.argv[1]).read_bytes()
Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
before, begun = resident("VmRSS:"), time.monotonic()
try:
    read_graph(data)
    told = "read"
except InvalidModel:
    told = "refused"
print(told, time.monotonic() - begun, (resident("VmHWM:") - before) / 1024)
"""


@pytest.mark.parametrize("case", WORST)
def test_the_worst_is_bounded(case: str, tmp_path: Path) -> None:
    """In a process of its own, whose memory is the reader's alone; seconds are generous, as machines are shared."""
    file = tmp_path / "model.onnx"
    file.write_bytes(WORST[case])
    done = subprocess.run([sys.executable, "-c", CHILD, file], check=True, capture_output=True, text=True, timeout=300)
    told, seconds, megabytes = done.stdout.split()
    assert told == ("read" if case == "numbers in a row" else "refused")
    assert float(seconds) < 60
    assert float(megabytes) < 200


class Ending(Protocol):
    end: int


def unchecked(frame: Ending, at: int, length: int) -> int:
    return min(at + length, frame.end + 3)


def forgetful(data: bytes) -> Graph:
    told = read_graph(data)
    return msgspec.structs.replace(told, operators=tuple(it for it in told.operators if it.type != "Neg"))


def slow(data: bytes) -> Graph:
    time.sleep(0.2)
    return read_graph(data)


def fragile(data: bytes) -> Graph:
    try:
        return read_graph(data)
    except InvalidModel as error:
        raise (IndexError if "a number that does not end" in error.message else error) from error


@pytest.mark.parametrize("read", [forgetful, slow, fragile])
def test_the_harness_notices(read: Callable[[bytes], Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: readers that are wrong, slow, or fail otherwise than they should do not pass."""
    monkeypatch.setattr(hostile, "SECONDS", 0.1)
    with pytest.raises((AssertionError, IndexError)):
        tally(islice(bent(Random(0), SMALL), 3_000), read)


def test_the_harness_notices_a_check_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: without the check of lengths against the message's end, bytes are read that belong to another."""
    monkeypatch.setattr(operators, "_end", unchecked)
    with pytest.raises((AssertionError, IndexError)):
        tally(islice(bent(Random(0), SMALL), 20_000))
