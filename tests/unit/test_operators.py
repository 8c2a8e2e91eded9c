"""The reader of operators: what it finds in files made by ``onnx``, what it refuses, and what it costs."""

from __future__ import annotations

import mmap
import time

import onnx
import pytest
from onnx import helper

from inferry.catalog import operators
from inferry.catalog.errors import Error, InvalidModel, InvalidName
from inferry.catalog.operators import COMPLETED, FIELDS, MAX_DEPTH, read_graph
from inferry.catalog.values.graph import Graph, Operator
from inferry.runtime.ort import OrtSession
from inferry.tests.graphs import GOOD, function, node, of, outside, with_functions
from inferry.tests.models import add, saved
from inferry.tests.wire import HEAD, field, imports, nested, varint


@pytest.mark.parametrize(("data", "graph"), GOOD.values(), ids=GOOD)
def test_it_finds_what_the_model_needs(data: bytes, graph: Graph) -> None:
    assert read_graph(data) == graph
    assert read_graph(memoryview(data)) == graph


def test_an_operator_is_three_and_one() -> None:
    given = Operator.of("acme", "Frob", 3)
    assert (given, given.domain, given.type, given.opset) == ("acme:Frob@3", "acme", "Frob", 3)
    given = Operator.of("", "Conv", None)
    assert (given, given.domain, given.type, given.opset) == ("Conv", "", "Conv", None)
    for text in (
        "",
        ":Conv",
        "ai.onnx:Conv",
        "a:b:C",
        "Conv@",
        "Conv@01",
        "Conv@-1",
        "Conv@2147483648",
        "Co nv",
        "Cö",
        201 * "C",
    ):
        with pytest.raises(InvalidName, match="is no operator"):
            Operator.parse(text)


def graph_field(*nodes: bytes) -> bytes:
    return field(7, b"".join(field(1, each) for each in nodes))


ABS = field(4, b"Abs")
NO_DOMAIN = saved(of(node("Abs"), node("Frob", "acme")))
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it has no graph"),
    "a text": (b"This is not a model.", "wire type 4.*at byte 1"),
    "a picture": (b"\x89PNG\r\n\x1a\n", "8 bytes where ModelProto has 6 left, at byte 2"),
    "half a model": (add()[:40], r"\d+ bytes where ModelProto has \d+ left, at byte"),
    "no graph": (HEAD, "it has no graph"),
    "a function's graph only": (HEAD + field(25, field(11, field(6, b""))), "it has no graph"),
    "no IR version": (imports() + field(7, b""), "it has no IR version"),
    "a negative IR version": (
        field(1, 2**64 - 1) + imports() + field(7, b""),
        "it has IR 18446744073709551615",
    ),
    "no operator set": (field(1, 8) + field(7, b""), "imports no operator set"),
    "a negative opset": (field(1, 8) + imports("", 2**64 - 1) + field(7, b""), "an operator set of version 1844"),
    "a domain that is not imported": (NO_DOMAIN, "the domain 'acme', which is not imported, at byte"),
    "a function's domain that is not imported": (
        with_functions(of(node("F", "local")), function("F", node("Abs"), opsets={"": 17})),
        "the domain 'local', which is not imported",
    ),
    "a function without imports": (
        with_functions(of(node("F", "local"), opsets={"": 17, "local": 1}), function("F", node("Abs"))),
        "the domain 'ai.onnx', which is not imported",
    ),
    "a node without an operator": (HEAD + graph_field(field(3, b"name")), "a node without an operator, at byte"),
    "an operator of no UTF-8": (HEAD + graph_field(field(4, b"\xff\xfe")), r"not UTF-8: b'\\xff\\xfe', at byte"),
    "a domain of no UTF-8": (HEAD + imports("q").replace(b"q", b"\xff") + field(7, b""), "not UTF-8"),
    "a file of no UTF-8": (saved(of(weights=(outside("qqqq"),))).replace(b"qqqq", b"\xff\xff\xff\xff"), "not UTF-8"),
    "an operator with a line's end": (HEAD + graph_field(field(4, b"A\nB")), "is no operator, at byte"),
    "a domain with a blank": (HEAD + imports("a b") + field(7, b""), "'a b' is no domain"),
    "an operator in many words": (HEAD + graph_field(field(4, 300 * b"A")), "is no operator"),
    "an operator of 5,000 letters": (HEAD + graph_field(field(4, 5000 * b"A")), "a name of 5000 bytes, more than 4096"),
    "a file that is not named": (saved(of(weights=(outside(""),))), "a tensor in another file that it does not name"),
    "a graph that is a number": (HEAD + field(7, 1), "ModelProto.graph of wire type 0, at byte"),
    "an IR version that is a text": (
        field(1, b"8") + imports() + field(7, b""),
        "ModelProto.ir_version of wire type 2",
    ),
    "a group": (add() + varint(999 << 3 | 3) + varint(999 << 3 | 4), "wire type 3, which ONNX does not have"),
    "wire type 7": (add() + b"\x0f", "ModelProto.ir_version of wire type 7"),
    "field 0": (add() + b"\x00\x01", "a field of number 0"),
    "a field beyond all": (add() + varint(1 << 32) + b"\x00", "a field of number 536870912"),
    "a tag that does not end": (add() + b"\xff", "a number that does not end, at byte"),
    "a number that does not end": (add() + b"\x28\xff", "a number that does not end"),
    "a number of 11 bytes": (add() + b"\x28" + 10 * b"\xff" + b"\x00", "a number that does not end"),
    "a length that does not end": (add() + b"\x3a", "a number that does not end"),
    "a length of all": (add() + b"\x3a" + varint(2**64 - 1), "18446744073709551615 bytes where ModelProto has 0 left"),
    "a length beyond its message": (
        HEAD + field(7, b"\x0a\x03\x22\x09") + 9 * b"A",
        "3 bytes where GraphProto has 2 left",
    ),
    "a name beyond its message": (HEAD + graph_field(b"\x22\x09A") + 9 * b"A", "9 bytes where NodeProto has 1 left"),
    "a float cut off": (add() + b"\x35\x00\x00\x00", "4 bytes where ModelProto has 3 left"),
    "a double cut off": (add() + b"\x31" + bytes(7), "8 bytes where ModelProto has 7 left"),
    "33 graphs within each other": (nested(33), "more than 32 graphs within each other"),
    "30,000 messages within each other": (HEAD + field(7, 10000 * b"\x0a\x7f\x2a\x7f\x32\x7f"), "bytes where"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_what_is_no_model_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InvalidModel, match=f"^not an ONNX model: .*{message}") as caught:
        read_graph(data)
    assert caught.value.exit_code == 9
    assert len(caught.value.message) < 500


def many(*nodes: bytes) -> bytes:
    return HEAD + graph_field(*nodes)


def files(count: int) -> bytes:
    return saved(of(weights=tuple(outside(f"{n}.bin") for n in range(count))))


LIMITS: dict[str, tuple[str, int, bytes, bytes, str]] = {
    "fields": ("MAX_FIELDS", 26, many(*10 * [ABS]), many(*11 * [ABS]), "more than 26 fields"),
    "nodes": ("MAX_NODES", 10, many(*10 * [ABS]), many(*11 * [ABS]), "more than 10 nodes"),
    "operators": (
        "MAX_OPERATORS",
        10,
        many(*(field(4, b"A%d" % (n % 10)) for n in range(20))),
        many(*(field(4, b"A%d" % (n % 11)) for n in range(20))),
        "more than 10 different operators",
    ),
    "functions": ("MAX_FUNCTIONS", 3, add() + 3 * field(25, b""), add() + 4 * field(25, b""), "more than 3 functions"),
    "imports": ("MAX_IMPORTS", 2, add() + imports(), add() + 2 * imports(), "more than 2 operator"),
    "files": ("MAX_FILES", 10, files(10), files(11), "more than 10 other files"),
    "depth": ("MAX_DEPTH", 4, nested(4), nested(5), "more than 4 graphs"),
    "names": ("MAX_NAME", 5, many(field(4, b"ABCDE")), many(field(4, b"ABCDEF")), "a name of 6 bytes"),
    "size": ("MAX_SIZE", len(add()), add(), add() + b"\x00", f"{len(add()) + 1} bytes are more than"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_every_bound_holds_at_its_number(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, limit, most, more, message = LIMITS[case]
    monkeypatch.setattr(operators, name, limit)
    read_graph(most)
    with pytest.raises(InvalidModel, match=message):
        read_graph(more)


def test_time_goes_by_fields_not_by_bytes() -> None:
    """Seconds are generous: a shared machine is slow; by bytes, in Python, each of these would take minutes."""
    convolution = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="n", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = field(1, convolution.SerializeToString())
    forest = field(1, field(4, b"Forest") + field(5, 5_000_000 * b"\x3d\x00\x00\x80\x3f" + 5_000_000 * b"\x40\x07"))
    begun = time.monotonic()
    assert read_graph(HEAD + field(7, 100_000 * nodes)).operators == ("Conv@17",)
    assert read_graph(HEAD + field(7, forest)).operators == ("Forest@17",)
    with mmap.mmap(-1, 2**31 - 1) as space, memoryview(space) as weights:  # never touched, so never there
        start = field(1, 8) + imports() + b"\x3a" + varint(2**31 - 1 - 40) + b"\x2a" + varint(2**31 - 1 - 60) + b"\x4a"
        start += varint(2**31 - 1 - 80)
        weights[: len(start)] = start
        with pytest.raises(InvalidModel, match="a field of number 0"):
            read_graph(weights)
    assert time.monotonic() - begun < 30


def test_the_fields_are_those_of_onnx() -> None:
    texts = {onnx.NodeProto.DESCRIPTOR.fields_by_name["op_type"].type}
    for message, fields in FIELDS.items():
        declared = getattr(onnx, message).DESCRIPTOR.fields_by_number
        for number, (name, kind) in fields.items():
            it = declared[number]
            assert it.name == name
            told = it.message_type.name if it.message_type else "text" if it.type in texts else "number"
            assert told == kind


def test_every_way_to_a_graph_or_a_tensor_is_followed() -> None:
    """Of ONNX's messages, all that lead to a node, a function or a tensor, but for training."""
    seen = set(FIELDS) - {"StringStringEntryProto"}
    for message in seen:
        for declared in getattr(onnx, message).DESCRIPTOR.fields:
            if declared.message_type and declared.message_type.name in seen:
                assert declared.number in FIELDS[message], (message, declared.name)


def opened(data: bytes) -> str:
    """Return why ONNX Runtime does not open it, or nothing."""
    try:
        OrtSession(data)
    except Error as error:
        return error.message
    return ""


REFUSED_BY_BOTH = (
    "a text",
    "half a model",
    "no graph",
    "no IR version",
    "no operator set",
    "a domain that is not imported",
    "a function's domain that is not imported",
    "a function without imports",
    "a node without an operator",
    "a file that is not named",
    "33 graphs within each other",
    "field 0",
    "a tag that does not end",
    "a number of 11 bytes",
)


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_onnx_runtime_refuses_them_too(name: str) -> None:
    assert opened(BAD[name][0])


OPENED = (
    "one",
    "ai.onnx spelled",
    "a set that nobody uses",
    "a domain of the runtime that is not imported",
    "only other domains",
    "a set imported twice",
    "a function",
    "what training needs",
    "fields from the future",
)


@pytest.mark.parametrize("name", OPENED)
def test_onnx_runtime_opens_them(name: str) -> None:
    assert not opened(GOOD[name][0])


def test_graphs_nest_as_deep_as_onnx_runtime_lets_them() -> None:
    assert not opened(nested(MAX_DEPTH))
    assert read_graph(nested(MAX_DEPTH)).operators == ("Abs@17", "If@17")


@pytest.mark.parametrize("domain", sorted({*COMPLETED, "acme"}))
def test_the_domains_that_onnx_runtime_completes(domain: str) -> None:
    sets = {"": 17} if domain else {"ai.onnx.ml": 3}
    refused = opened(saved(of(node("Nosuch", domain), opsets=sets)))
    assert "Nosuch" in refused
    assert ("No opset import for domain" in refused) is (domain == "acme")
