"""What a reader must bear: bytes bent in every way, and how its answer is judged."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError, Message

from inferry.catalog.errors import InvalidModel
from inferry.catalog.operators import COMPLETED, read_graph
from inferry.catalog.values.graph import Graph, Operator
from inferry.tests.wire import field, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from random import Random

SECONDS = 5
"""Far more than any of these files takes: what takes longer would take without end."""


def cut(data: bytes, at: int, _: bytes) -> bytes:
    return data[:at]


def flip(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + bytes([data[at] ^ (salt[0] or 1)]) + data[at + 1 :] if at < len(data) else data


def drop(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + data[at + len(salt) :]


def insert(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + salt + data[at:]


def replace(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + salt + data[at + len(salt) :]


def repeat(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + (1 + salt[0]) * data[at : at + 2 * len(salt)] + data[at + len(salt) :]


def bomb(data: bytes, at: int, salt: bytes) -> bytes:
    """Put a huge number where a length may be."""
    return data[:at] + varint(1 << salt[0] % 70) + data[at + 1 :]


def wrap(data: bytes, at: int, salt: bytes) -> bytes:
    return data[:at] + field(1 + salt[0] % 30, data[at:])


EDITS = (cut, flip, drop, insert, replace, repeat, bomb, wrap)


def bent(random: Random, corpus: Iterable[bytes]) -> Iterator[bytes]:
    """Yield models without end: two merged, or cut and spliced, or edited up to four times."""
    models = tuple(corpus)
    while True:
        data, other = random.choice(models), random.choice(models)
        how = random.randrange(8)
        if how == 0:
            data += other
        elif how == 1:
            data = data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]
        for _ in range(random.choice((0, 1, 2, 4)) if how < 2 else random.choice((1, 1, 2, 4))):
            data = random.choice(EDITS)(data, random.randrange(len(data) + 1), random.randbytes(random.randint(1, 8)))
        yield data


def judge(data: bytes, read: Callable[[bytes], Graph] = read_graph) -> str:
    """Return ``read`` or ``refused``; fail where it took too long, raised anything else or differs from ``onnx``."""
    told, refused = None, ""
    begun = time.monotonic()
    try:
        told = read(data)
    except InvalidModel as error:
        refused = error.message
    assert time.monotonic() - begun < SECONDS
    assert len(refused) < 1000
    if told is None:
        return "refused"
    try:
        made = onnx.ModelProto.FromString(data)
    except DecodeError:
        return "read"  # it looks into what the reader steps over
    assert told == reference(made)
    return "read"


def tally(models: Iterable[bytes], read: Callable[[bytes], Graph] = read_graph) -> Counter[str]:
    return Counter(judge(data, read) for data in models)


def reference(made: onnx.ModelProto) -> Graph | None:
    """Return what a model needs, by ``onnx``'s own reading of it; ``None`` where it lacks what a runtime needs."""
    if not made.HasField("graph") or not made.HasField("ir_version") or not made.opset_import:
        return None
    functions = {(domain(it), it.name, it.overload) for it in made.functions}
    opsets: dict[str, int] = {}
    operators: set[Operator] = set()
    files: set[str] = set()
    for part, imports in ((made.graph, made.opset_import), *((it, it.opset_import) for it in made.functions)):
        sets: dict[str, int] = {}
        for one in imports:
            sets[domain(one)] = max(one.version, sets.get(domain(one), 0))
            opsets[domain(one)] = max(one.version, opsets.get(domain(one), 0))
        for it in below(part):
            if isinstance(it, onnx.TensorProto) and it.data_location == onnx.TensorProto.EXTERNAL:
                files |= {each.value for each in it.external_data if each.key == "location"}
            elif isinstance(it, onnx.NodeProto):
                if domain(it) not in sets and (part is not made.graph or domain(it) not in COMPLETED):
                    return None
                if (domain(it), it.op_type, it.overload) not in functions:
                    operators.add(Operator.of(domain(it), it.op_type, sets.get(domain(it))))
    return Graph(
        ir_version=made.ir_version,
        opsets=opsets,
        operators=tuple(sorted(operators)),
        external=tuple(sorted(files)),
    )


def below(message: Message) -> Iterator[Message]:
    """Yield the message and all that are in it."""
    yield message
    for declared, value in message.ListFields():
        if declared.message_type:
            for each in [value] if isinstance(value, Message) else value:
                yield from below(each)


def domain(it: onnx.NodeProto | onnx.FunctionProto | onnx.OperatorSetIdProto) -> str:
    return "" if it.domain == "ai.onnx" else it.domain
