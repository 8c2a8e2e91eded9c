"""The operators of an ONNX file, read from its bytes without any library, within bounds.

An ONNX file is one message of Protocol Buffers, ``ModelProto``. A message is a row of fields, each a tag (number and
wire type) and a value; what is not in ``FIELDS`` is stepped over by its length, however large. Time and memory grow
with the number of fields, not of bytes, and are bounded; nothing recurses.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from .errors import InvalidModel, InvalidName
from .values.graph import MAX_VERSION, Graph, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SIZE: Final = 2**31 - 1
"""Of a file, in bytes: Protocol Buffers have no larger message."""
MAX_DEPTH: Final = 32
"""Graphs within each other, the model's own counted: 3 messages each, of the 100 that Protocol Buffers nest."""
MAX_FIELDS: Final = 10_000_000
"""Fields that are looked at or stepped over: some 10 seconds at worst. Numbers of one list in a row count as one."""
MAX_NODES: Final = 1_000_000
MAX_FUNCTIONS: Final = 50_000
MAX_IMPORTS: Final = 200_000
"""Operator sets, of the model and of each function, in sum."""
MAX_OPERATORS: Final = 100_000
"""Different operators and functions that are used, by the model and by each function, in sum."""
MAX_FILES: Final = 100_000
"""Different files with tensors."""
MAX_NAME: Final = 4096
"""Of a text that is looked at, in bytes; as long as a path on Linux."""

FIELDS: Final[Mapping[str, Mapping[int, tuple[str, str]]]] = {
    "ModelProto": {
        1: ("ir_version", "number"),
        7: ("graph", "GraphProto"),
        8: ("opset_import", "OperatorSetIdProto"),
        25: ("functions", "FunctionProto"),
    },
    "OperatorSetIdProto": {1: ("domain", "text"), 2: ("version", "number")},
    "GraphProto": {
        1: ("node", "NodeProto"),
        5: ("initializer", "TensorProto"),
        15: ("sparse_initializer", "SparseTensorProto"),
    },
    "FunctionProto": {
        1: ("name", "text"),
        7: ("node", "NodeProto"),
        9: ("opset_import", "OperatorSetIdProto"),
        10: ("domain", "text"),
        11: ("attribute_proto", "AttributeProto"),
        13: ("overload", "text"),
    },
    "NodeProto": {
        4: ("op_type", "text"),
        5: ("attribute", "AttributeProto"),
        7: ("domain", "text"),
        8: ("overload", "text"),
    },
    "AttributeProto": {
        5: ("t", "TensorProto"),
        6: ("g", "GraphProto"),
        10: ("tensors", "TensorProto"),
        11: ("graphs", "GraphProto"),
        22: ("sparse_tensor", "SparseTensorProto"),
        23: ("sparse_tensors", "SparseTensorProto"),
    },
    "SparseTensorProto": {1: ("values", "TensorProto"), 2: ("indices", "TensorProto")},
    "TensorProto": {13: ("external_data", "StringStringEntryProto"), 14: ("data_location", "number")},
    "StringStringEntryProto": {1: ("key", "text"), 2: ("value", "text")},
}
"""The fields that are looked at, of each message: number, name, and what it holds.

They are those of ``onnx/onnx-ml.proto`` in ONNX 1.23 (IR 14); numbers in it are never given to another field. What only
training uses (``ModelProto.training_info``) is none of a runtime's business.
"""
COMPLETED: Final = frozenset(
    [
        "",
        "ai.onnx.ml",
        "ai.onnx.preview",
        "ai.onnx.preview.training",
        "ai.onnx.training",
        "com.microsoft",
        "com.microsoft.experimental",
        "com.microsoft.nchwc",
        "com.ms.internal.nhwc",
        "org.pytorch.aten",
    ]
)
"""The domains of ONNX Runtime (1.31.1) itself: of one that the model does not import, its graph gets the newest."""

_VARINT, _I64, _BYTES, _I32 = 0, 1, 2, 5
_WIDTHS: Final = {_I64: 8, _I32: 4}
"""In bytes."""
_LAST_NUMBER: Final = 2**29 - 1
_EXTERNAL: Final = 1  # TensorProto.DataLocation.EXTERNAL
_VARINT_BYTES: Final = 10
_MORE: Final = 0x80
"""Set in each byte of a varint but its last."""


def read_graph(data: bytes | memoryview) -> Graph:
    """Return what the ONNX file in ``data`` needs; no tensor is copied.

    Its subgraphs and functions count with it, each function by its own imports and whether called or not; a call of one
    of the model's own functions is no operator. Of several imports of one domain the highest counts.

    Raises:
        InvalidModel: the bytes are no ONNX model, lack what a runtime needs, or go beyond the bounds of this module.
    """
    if len(data) > MAX_SIZE:
        raise InvalidModel(f"not an ONNX model: {len(data)} bytes are more than {MAX_SIZE}")
    return _Reader(data).read()


class _Scope:
    """What the model's graph, or one of its functions, imports and uses."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.imports: dict[bytes, int] = {}
        self.used: dict[tuple[bytes, bytes, bytes], int] = {}
        """Domain, type and overload, and where it is used first."""


class _Frame:
    """A message that has begun: what it is, where it starts and ends, what it has told."""

    __slots__ = ("end", "fields", "message", "numbers", "scope", "start", "texts")

    def __init__(self, message: str, start: int, end: int, scope: _Scope) -> None:
        self.message = message
        self.fields = FIELDS[message]
        self.start = start
        self.end = end
        self.scope = scope
        self.numbers: dict[str, int] = {}
        self.texts: dict[str, bytes] = {}


class _Reader:
    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self._model = _Frame("ModelProto", 0, len(data), _Scope(0))
        self._open = [self._model]
        """The messages that have begun and not ended, the innermost last."""
        self._depth = self._nodes = self._imports = self._used = 0
        self._has_graph = False
        self._functions: set[tuple[bytes, bytes, bytes]] = set()
        self._scopes = [self._model.scope]
        self._files: dict[bytes, int] = {}

    def read(self) -> Graph:
        ends = {
            "NodeProto": self._end_node,
            "GraphProto": self._end_graph,
            "OperatorSetIdProto": self._end_import,
            "StringStringEntryProto": self._end_entry,
            "TensorProto": self._end_tensor,
            "FunctionProto": self._end_function,
        }
        at = fields = 0
        while self._open:
            frame = self._open[-1]
            if at == frame.end:
                self._open.pop()
                if frame.message in ends:
                    ends[frame.message](frame)
                continue
            fields += 1
            if fields > MAX_FIELDS:
                raise _invalid(f"more than {MAX_FIELDS} fields", at)
            at = self._field(frame, at)
        return self._graph()

    def _field(self, frame: _Frame, start: int) -> int:
        """Take or step over the field at ``start``, and return where what comes next begins."""
        tag, at = _varint(self._data, start, frame.end)
        known = frame.fields.get(tag >> 3)
        if known is None:
            return self._over(frame, tag, at)
        name, kind = known
        if tag & 7 != (_VARINT if kind == "number" else _BYTES):
            raise _invalid(f"{frame.message}.{name} of wire type {tag & 7}", start)
        value, at = _varint(self._data, at, frame.end)
        if kind == "number":
            frame.numbers[name] = value
            return at
        end = _end(frame, at, value)
        if kind == "text":
            frame.texts[name] = self._text(at, end)
            return end
        self._begin(kind, frame, at, end)
        return at

    def _over(self, frame: _Frame, tag: int, at: int) -> int:
        """Step over a value that nobody looks at."""
        wire = tag & 7
        if wire == _BYTES:
            length, at = _varint(self._data, at, frame.end)
            end = _end(frame, at, length)
        elif wire == _VARINT:
            end = _varint(self._data, at, frame.end)[1]
        elif wire in _WIDTHS:
            end = _end(frame, at, _WIDTHS[wire])
        else:
            raise _invalid(f"a field of wire type {wire}, which ONNX does not have", at)
        if not 1 <= tag >> 3 <= _LAST_NUMBER:
            raise _invalid(f"a field of number {tag >> 3}", at)
        if wire != _BYTES and tag < _MORE and end < frame.end and self._data[end] == tag:
            # Of a list that is not packed, such as AttributeProto.ints: there may be millions.
            row = _row(tag).match(self._data, end, frame.end)
            return row.end() if row else end
        return end

    def _begin(self, message: str, outer: _Frame, start: int, end: int) -> None:
        scope = outer.scope
        if message == "FunctionProto":
            scope = _Scope(start)
            self._scopes.append(scope)
            if len(self._scopes) > 1 + MAX_FUNCTIONS:
                raise _invalid(f"more than {MAX_FUNCTIONS} functions", start)
        elif message == "GraphProto":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise _invalid(f"more than {MAX_DEPTH} graphs within each other", start)
            self._has_graph |= outer is self._model
        self._open.append(_Frame(message, start, end, scope))

    def _text(self, start: int, end: int) -> bytes:
        if end - start > MAX_NAME:
            raise _invalid(f"a name of {end - start} bytes, more than {MAX_NAME}", start)
        return bytes(self._data[start:end])

    def _end_graph(self, _: _Frame) -> None:
        self._depth -= 1

    def _end_node(self, frame: _Frame) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _invalid(f"more than {MAX_NODES} nodes", frame.start)
        if not frame.texts.get("op_type"):
            raise _invalid("a node without an operator", frame.start)
        used, called = frame.scope.used, _named(frame, "op_type")
        if called not in used:
            used[called] = frame.start
            self._used += 1
            if self._used > MAX_OPERATORS:
                raise _invalid(f"more than {MAX_OPERATORS} different operators", frame.start)

    def _end_import(self, frame: _Frame) -> None:
        self._imports += 1
        if self._imports > MAX_IMPORTS:
            raise _invalid(f"more than {MAX_IMPORTS} operator sets", frame.start)
        version = frame.numbers.get("version", 0)
        if version > MAX_VERSION:
            raise _invalid(f"an operator set of version {version}", frame.start)
        imports, domain = frame.scope.imports, _domain(frame)
        imports[domain] = max(version, imports.get(domain, 0))

    def _end_entry(self, frame: _Frame) -> None:
        if frame.texts.get("key") == b"location":
            self._open[-1].texts["location"] = frame.texts.get("value", b"")

    def _end_tensor(self, frame: _Frame) -> None:
        if frame.numbers.get("data_location") != _EXTERNAL:
            return
        if not frame.texts.get("location"):
            raise _invalid("a tensor in another file that it does not name", frame.start)
        self._files.setdefault(frame.texts["location"], frame.start)
        if len(self._files) > MAX_FILES:
            raise _invalid(f"more than {MAX_FILES} other files", frame.start)

    def _end_function(self, frame: _Frame) -> None:
        self._functions.add(_named(frame, "name"))

    def _graph(self) -> Graph:
        """Put together what the whole model told: imports stand behind the nodes that go by them."""
        version = self._model.numbers.get("ir_version")
        if not self._has_graph:
            raise InvalidModel("not an ONNX model: it has no graph")
        if version is None or version > MAX_VERSION:
            raise InvalidModel(f"not an ONNX model: it has {'no IR version' if version is None else f'IR {version}'}")
        if not self._model.scope.imports:
            raise InvalidModel("not an ONNX model: it imports no operator set")
        opsets: dict[str, int] = {}
        for scope in self._scopes:
            for domain, imported in scope.imports.items():
                told = _decoded(domain, scope.start)
                opsets[told] = max(imported, opsets.get(told, 0))
        operators = {operator for scope in self._scopes for operator in self._operators(scope)}
        external = sorted(_decoded(name, at) for name, at in self._files.items())
        try:
            return Graph(
                ir_version=version,
                opsets=dict(sorted(opsets.items())),
                operators=tuple(sorted(operators)),
                external=tuple(external),
            )
        except ValueError as error:
            raise InvalidModel(f"not an ONNX model: {error}") from error

    def _operators(self, scope: _Scope) -> Iterator[Operator]:
        for called, at in scope.used.items():
            domain, name, _ = called
            opset = scope.imports.get(domain)
            told = _decoded(domain, at)
            if opset is None and (scope is not self._model.scope or told not in COMPLETED):
                raise _invalid(f"an operator of the domain {told or 'ai.onnx'!r}, which is not imported", at)
            if called in self._functions:
                continue
            try:
                yield Operator.of(told, _decoded(name, at), opset)
            except InvalidName as error:
                raise _invalid(error.message, at) from error


def _end(frame: _Frame, at: int, length: int) -> int:
    """Return where that many bytes end; raise ``InvalidModel`` where the message ends before."""
    if length > frame.end - at:
        raise _invalid(f"{length} bytes where {frame.message} has {frame.end - at} left", at)
    return at + length


def _named(frame: _Frame, name: str) -> tuple[bytes, bytes, bytes]:
    texts = frame.texts
    return _domain(frame), texts.get(name, b""), texts.get("overload", b"")


def _domain(frame: _Frame) -> bytes:
    domain = frame.texts.get("domain", b"")
    return b"" if domain == b"ai.onnx" else domain


def _decoded(text: bytes, at: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise _invalid(f"a name that is not UTF-8: {text[:100]!r}", at) from error


def _varint(data: bytes | memoryview, start: int, end: int) -> tuple[int, int]:
    """Return the number at ``start``, of 64 bits at most, and where it ends."""
    if start < end and data[start] < _MORE:
        return data[start], start + 1
    value = 0
    for place in range(start, min(end, start + _VARINT_BYTES)):
        byte = data[place]
        value |= (byte & 0x7F) << 7 * (place - start)
        if byte < _MORE:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
    raise _invalid("a number that does not end", start)


@cache
def _row(tag: int) -> re.Pattern[bytes]:
    """Return what matches a row of fields of this tag, which is of one byte: it steps over them at the speed of C."""
    value = {_VARINT: rb"[\x80-\xff]{0,9}+[\x00-\x7f]", _I64: b".{8}", _I32: b".{4}"}[tag & 7]
    return re.compile(b"(?:%b%b)*+" % (re.escape(bytes([tag])), value), re.DOTALL)


def _invalid(what: str, at: int) -> InvalidModel:
    return InvalidModel(f"not an ONNX model: {what}, at byte {at}")
