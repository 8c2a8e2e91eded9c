"""The one door of onnx: what an ONNX file takes, returns and holds. Tensors in other files are not loaded."""

from __future__ import annotations

import math
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..catalog.errors import InvalidModel, LibraryMissing, MachineError, ModelNotFound
from ..catalog.operators import MAX_SIZE, read_graph
from ..catalog.values.model import Input, Output
from .memory import Step, peak
from .weights import DTYPES, PACKED, PACKED_BITS, SCALES, Dtype, Weighed, Weight, weigh

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import onnx

    from ..catalog.values.graph import Graph
    from ..catalog.values.model import Precision, Shape

_WHOLE: Final = "is the file whole, and an ONNX model? export it anew if not"
_ORTS_OWN: Final = b"ORTM"
_FLOATING: Final[dict[str, Precision]] = {"float32": "fp32", "float64": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_EXTERNAL: Final = 1  # TensorProto.DataLocation.EXTERNAL
_LIGHT: Final = 4096
"""Elements: the tensors that shapes are computed from are smaller."""
_HALVES: Final = frozenset({"complex64", "complex128"})


class External(NamedTuple):
    """A file that a model keeps tensors in."""

    location: str
    """As the model names it."""
    file: Path
    size_bytes: int


class Inspected(NamedTuple):
    """What an ONNX file is."""

    inputs: tuple[Input, ...]
    """Those that it must be given: an input with a value of its own is none."""
    outputs: tuple[Output, ...]
    graph: Graph
    weighed: Weighed
    size_bytes: int
    """Of the file itself."""
    external: tuple[External, ...]
    """Sorted by their locations."""
    activations_bytes: int | None
    """The most that its values take at once, each free axis of length 1, the nodes one after the other, nothing of
    subgraphs; ``None`` where a shape is not known."""

    @property
    def precision(self) -> Precision:
        """That of its weights; without weights that of its first floating input or output, else fp32."""
        if self.weighed.precision:
            return self.weighed.precision
        told = [*(each.dtype for each in self.inputs), *(each.dtype for each in self.outputs)]
        floating: list[Precision] = [*(_FLOATING[each] for each in told if each in _FLOATING), _FLOATING["float32"]]
        return floating[0]

    @property
    def memory_bytes(self) -> int | None:
        """An estimate of what running it takes: its tensors, and its values at a time; a runtime may take more."""
        return None if self.activations_bytes is None else self.weighed.size_bytes + self.activations_bytes


def inspect(path: Path) -> Inspected:
    """Return what the ONNX file at ``path`` is.

    Raises:
        LibraryMissing: onnx is not here.
        ModelNotFound: there is no such file.
        InvalidModel: it is no ONNX model, or names files that are not there, lie elsewhere or are too short.
        MachineError: it cannot be read.
    """
    try:
        import onnx
    except ImportError as error:
        raise LibraryMissing(
            f"to look into {path}, onnx is needed, and it is not here",
            hints=('pip install "inferry[publish]"', "or write into the manifest what it would tell"),
        ) from error
    from google.protobuf.message import DecodeError

    data = _read(path)
    try:
        graph = read_graph(data)
        model = onnx.ModelProto.FromString(data)
        return _inspected(onnx, model, graph, path, len(data))
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error.message}", hints=error.hints() or (_WHOLE,)) from error
    except (DecodeError, UnicodeDecodeError) as error:
        raise InvalidModel(f"{path}: not an ONNX model: {error}"[:500], hints=(_WHOLE,)) from error


def _read(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) > MAX_SIZE:
            raise InvalidModel(
                f"{path}: {size:,} bytes are more than an ONNX file may have, {MAX_SIZE:,}",
                hints=("keep its tensors in a file beside it: onnx.save(model, path, save_as_external_data=True)",),
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelNotFound(f"there is no file {path}") from error
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror or error}") from error
    if data[4:8] == _ORTS_OWN:
        raise InvalidModel(
            f"{path} is in ONNX Runtime's own format, which tells nothing of inputs and operators",
            hints=("publish the ONNX file that it was made from",),
        )
    return data


def _inspected(onnx: Any, model: onnx.ModelProto, graph: Graph, path: Path, size: int) -> Inspected:  # noqa: ANN401 - the module
    names, it = _names(onnx), model.graph
    parts = list(_parts(model))
    given = {each.name for each in it.initializer} | {each.values.name for each in it.sparse_initializer}
    inputs = [each for each in it.input if each.name not in given]
    held = list(_tensors(parts))
    return Inspected(
        tuple(Input(name=_text(each.name), dtype=_dtype(each, names), shape=_shape(each)) for each in inputs),
        tuple(Output(name=_text(each.name), dtype=_dtype(each, names), shape=_shape(each)) for each in it.output),
        graph,
        weigh(_weights(parts, held, names)),
        size,
        _external((tensor for _, tensor, _ in held), path.parent, names),
        _activations(onnx, model, names),
    )


def _names(onnx: Any) -> dict[int, str]:  # noqa: ANN401 - the module
    return {number: name for name, number in onnx.TensorProto.DataType.items()}


def _known(number: int, names: dict[int, str], what: str) -> Dtype:
    dtype = DTYPES.get(names.get(number, ""))
    if dtype is None:
        raise InvalidModel(
            f"{what} is of the dtype {names.get(number, number)}, which is unknown",
            hints=("export the model with another dtype, or update onnx and inferry",),
        )
    return dtype


def _text(told: object) -> str:
    """Return a text of the model's; one that is not UTF-8 comes as bytes."""
    if not isinstance(told, str):
        raise InvalidModel(f"not an ONNX model: a name that is not UTF-8: {str(told)[:100]}")
    return told


def _dtype(told: onnx.ValueInfoProto, names: dict[int, str]) -> str:
    """Return the dtype of an input or output; of what is no tensor its type, as ONNX Runtime spells it."""
    if told.type.WhichOneof("value") == "tensor_type":
        return _known(told.type.tensor_type.elem_type, names, f"`{told.name[:100]}`").name
    return _spelled(told.type, names, f"`{told.name[:100]}`")


def _spelled(kind: onnx.TypeProto, names: dict[int, str], what: str) -> str:
    def element(number: int) -> str:
        name = _known(number, names, what).name
        return {"float32": "float", "float64": "double"}.get(name, name)

    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return f"tensor({element(kind.tensor_type.elem_type)})"
    if which == "sparse_tensor_type":
        return f"sparse_tensor({element(kind.sparse_tensor_type.elem_type)})"
    if which == "sequence_type":
        return f"seq({_spelled(kind.sequence_type.elem_type, names, what)})"
    if which == "optional_type":
        return f"optional({_spelled(kind.optional_type.elem_type, names, what)})"
    if which == "map_type":
        return f"map({element(kind.map_type.key_type)},{_spelled(kind.map_type.value_type, names, what)})"
    raise InvalidModel(f"{what} is of no type that is known", hints=("export the model with its types",))


def _shape(told: onnx.ValueInfoProto) -> Shape:
    """Return a shape. An axis without a length or name is called after its tensor: two of them need not be equal."""
    if told.type.WhichOneof("value") != "tensor_type":
        return ()
    return tuple(
        side.dim_value
        if side.HasField("dim_value") and side.dim_value >= 0
        else _text(side.dim_param) or f"{told.name}_{place}"
        for place, side in enumerate(told.type.tensor_type.shape.dim)
    )


def _parts(model: onnx.ModelProto) -> Iterator[Any]:
    """Yield the model's graph and functions, and all graphs in them."""
    left: list[Any] = [model.graph, *model.functions]
    while left:
        part = left.pop()
        yield part
        for attribute in _attributes(part):
            if attribute.HasField("g"):
                left.append(attribute.g)
            left.extend(attribute.graphs)


def _attributes(part: Any) -> Iterator[onnx.AttributeProto]:  # noqa: ANN401 - a graph or a function
    for node in part.node:
        yield from node.attribute
    yield from getattr(part, "attribute_proto", ())


def _tensors(parts: Iterable[Any]) -> Iterator[tuple[str, onnx.TensorProto, bool]]:
    """Yield every tensor, under the name that nodes call it by, and whether it is a weight: nodes have others, too."""
    for part in parts:
        for tensor in getattr(part, "initializer", ()):
            yield tensor.name, tensor, True
        for sparse in getattr(part, "sparse_initializer", ()):
            yield sparse.values.name, sparse.values, True
            yield "", sparse.indices, False
        for node in part.node:
            constant = node.op_type == "Constant" and len(node.output) > 0
            for attribute in node.attribute:
                yield from _of_attribute(attribute, node.output[0] if constant else "", weight=constant)
        for attribute in getattr(part, "attribute_proto", ()):
            yield from _of_attribute(attribute, "", weight=False)


def _of_attribute(
    attribute: onnx.AttributeProto, name: str, *, weight: bool
) -> Iterator[tuple[str, onnx.TensorProto, bool]]:
    if attribute.HasField("t"):
        yield name, attribute.t, weight
    for tensor in attribute.tensors:
        yield "", tensor, False
    for sparse in [
        *([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else ()),
        *attribute.sparse_tensors,
    ]:
        yield name, sparse.values, weight
        yield "", sparse.indices, False


def _weights(
    parts: Iterable[Any], held: Iterable[tuple[str, onnx.TensorProto, bool]], names: dict[int, str]
) -> Iterator[Weight]:
    scales: set[str] = set()
    packed: dict[str, int] = {}
    for part in parts:
        for node in part.node:
            scales.update(node.input[place] for place in SCALES.get(node.op_type, ()) if place < len(node.input))
            place, attribute = PACKED.get(node.op_type, (len(node.input), ""))
            if place < len(node.input):
                packed[node.input[place]] = next(
                    (each.i for each in node.attribute if each.name == attribute), PACKED_BITS
                )
    for name, tensor, weight in held:
        what = f"the tensor `{tensor.name[:100]}`"
        dtype, elements = _known(tensor.data_type, names, what), _elements(tensor)
        made = Weight(dtype, elements, scale=name in scales or not weight, packed_bits=packed.get(name))
        if tensor.data_location != _EXTERNAL and (words := _lacks(tensor, made)):
            raise InvalidModel(f"{what} {words}", hints=(_WHOLE,))
        yield made


def _elements(tensor: onnx.TensorProto) -> int:
    if any(side < 0 for side in tensor.dims):
        raise InvalidModel(f"the tensor `{tensor.name[:100]}` has an axis of negative length", hints=(_WHOLE,))
    return math.prod(tensor.dims)


def _lacks(tensor: onnx.TensorProto, weight: Weight) -> str:
    """Return how a tensor in the file differs from what its shape and dtype say; nothing where it does not."""
    if tensor.HasField("raw_data"):
        has, needs = len(tensor.raw_data), weight.size_bytes
        return "" if has == needs else f"holds {has:,} bytes where its shape takes {needs:,}"
    lists = (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data)
    has = sum(map(len, lists)) + len(tensor.string_data)
    needs = weight.elements * (2 if weight.dtype.name in _HALVES else 1)
    if 0 < weight.dtype.bits < 8:  # noqa: PLR2004 - several in each entry
        needs = weight.size_bytes
    return "" if has == needs else f"holds {has:,} values where its shape takes {needs:,}"


def _external(tensors: Iterable[onnx.TensorProto], folder: Path, names: dict[int, str]) -> tuple[External, ...]:
    """Return the other files; raise ``InvalidModel`` that tells all that is wrong with them."""
    found: dict[str, External | None] = {}
    wrong: list[str] = []
    for tensor in tensors:
        if tensor.data_location != _EXTERNAL:
            continue
        told = {_text(each.key): _text(each.value) for each in tensor.external_data}
        location = told.get("location", "")
        if location not in found:
            found[location], words = _beside(folder, location)
            wrong += [words] if words else []
        if it := found[location]:
            size = Weight(_known(tensor.data_type, names, f"the tensor `{tensor.name[:100]}`"), _elements(tensor))
            if words := _beyond(told, size.size_bytes, it):
                wrong.append(f"the tensor `{tensor.name[:100]}` {words}")
    if wrong:
        raise InvalidModel(
            "\n  ".join(dict.fromkeys(wrong[:20])), hints=("put the files that it names beside the model",)
        )
    return tuple(each for _, each in sorted(found.items()) if each)


def _beside(folder: Path, location: str) -> tuple[External | None, str]:
    """Return the file that a model in ``folder`` calls ``location``, or why that is none."""
    windows = PureWindowsPath(location)
    if windows.drive or windows.root or PurePosixPath(location).is_absolute():
        return None, f"it keeps tensors in `{location[:200]}`, which is an absolute path"
    file = folder / location
    try:
        if ".." in windows.parts or not file.resolve().is_relative_to(folder.resolve()):
            return None, f"it keeps tensors in `{location[:200]}`, which leaves its folder"
        if not file.is_file():
            return None, f"it keeps tensors in `{location[:200]}`, and there is no such file beside it"
        return External(location, file, file.stat().st_size), ""
    except (OSError, ValueError) as error:  # a name with a zero in it, or one that the disk cannot have
        return None, f"it keeps tensors in {location[:200]!r}, which cannot be read: {error}"


def _beyond(told: dict[str, str], needs: int, it: External) -> str:
    """Return why a tensor of so many bytes is not in a file at the place that is told; nothing where it is."""
    numbers = [told.get("offset", "0"), told.get("length", str(needs))]
    if not all(each.isascii() and each.isdecimal() and len(each) < 20 for each in numbers):  # noqa: PLR2004 - 2**63
        return (
            f"begins at `{numbers[0][:40]}` of `{it.location}` and has `{numbers[1][:40]}` bytes: these are no numbers"
        )
    offset, length = map(int, numbers)
    if length != needs:
        return f"has {length:,} bytes in `{it.location}` where its shape takes {needs:,}"
    if offset + length > it.size_bytes:
        return f"ends at byte {offset + length:,} of `{it.location}`, which has {it.size_bytes:,}"
    return ""


def _activations(onnx: Any, model: onnx.ModelProto, names: dict[int, str]) -> int | None:  # noqa: ANN401 - the module
    """Return the most bytes of values at once; what room the model's weights take is let go."""
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) > _LIGHT:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # noqa: BLE001 - its native half raises whatever a model leads it to
        return None
    sizes = {
        each.name: _size(each.type, names) for each in (*graph.input, *graph.output, *graph.value_info) if each.name
    }
    kept = {each.name for each in (*graph.input, *graph.output)}
    weights = {each.name for each in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
    steps: list[Step] = []
    for node in graph.node:
        if node.op_type == "Constant":
            weights.update(node.output)
            continue
        steps.append(Step({*node.input, *_captured(node)}, [each for each in node.output if each]))
        sizes.update({each: None for each in node.output if each and each not in sizes})
    return peak(steps, {name: sizes[name] for name in sizes if name not in weights}, kept - weights)


def _size(kind: onnx.TypeProto, names: dict[int, str]) -> int | None:
    tensor = kind.tensor_type
    dtype = DTYPES.get(names.get(tensor.elem_type, ""))
    if kind.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape") or not dtype or not dtype.bits:
        return None
    sides = (side.dim_value if side.dim_value > 0 or side.HasField("dim_value") else 1 for side in tensor.shape.dim)
    return -(-math.prod(max(side, 0) for side in sides) * dtype.bits // 8)


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """Yield what the graphs in a node take from around it."""
    left = [graph for each in node.attribute for graph in (*([each.g] if each.HasField("g") else ()), *each.graphs)]
    while left:
        graph = left.pop()
        for inner in graph.node:
            yield from inner.input
            left += [
                one for each in inner.attribute for one in (*([each.g] if each.HasField("g") else ()), *each.graphs)
            ]
