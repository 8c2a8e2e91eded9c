"""Values to draw, for laws that hold of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from inferry.catalog.values.digest import Digest
from inferry.catalog.values.graph import Graph, Operator
from inferry.catalog.values.location import HuggingFaceLocation, Location, PythonIndexLocation, UrlLocation
from inferry.catalog.values.model import Artifact, Input, Output, Release, Variant
from inferry.catalog.values.names import HuggingFaceName, ModelName
from inferry.catalog.values.picture import Picture
from inferry.catalog.values.requirement import DeviceRule, Requirement

if TYPE_CHECKING:
    from collections.abc import Sequence


def some(options: Sequence[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(options)


SHARES = st.none() | st.floats(0, 1) | some([0, 1, -0.0])
LOCATIONS: st.SearchStrategy[tuple[Location, ...]] = st.lists(
    st.builds(
        HuggingFaceLocation,
        repo=some(["a/b", "A/b"]).map(HuggingFaceName),
        revision=some([40 * "0", 40 * "a"]),
        path=some(["x", "x/ü"]),
    )
    | st.builds(PythonIndexLocation, project=some(["a", "b-c"]), version=some(["1", "1.0+a"]), file=some(["x.whl"]))
    | st.builds(UrlLocation, url=some(["https://a/b", "file:///a"])),
    max_size=2,
).map(tuple)
ARTIFACTS = st.builds(
    Artifact,
    path=some(["a.onnx", "b/c"]),
    media_type=st.text(max_size=3),
    digest=some([b"", b"a"]).map(Digest.of),
    size_bytes=st.integers(0, 2**60),
    locations=LOCATIONS,
    redistribution=some(["allowed", "forbidden", "unknown"]),
)
GRAPHS = some([{"": 17, "acme": 2}, {"acme": 2, "": 17}, {"": 17}]).map(
    lambda opsets: Graph(ir_version=8, opsets=opsets, operators=(Operator("Conv@17"),))
)
APIS = some([{}, {"d3d12": "12.1", "vulkan": "1.3"}])
REQUIREMENTS = st.builds(
    Requirement,
    source=st.text(max_size=3),
    devices=st.lists(
        st.builds(DeviceRule, kind=some(["gpu", "npu"]), apis=APIS),
        max_size=1,
    ).map(tuple),
)
VARIANTS = st.builds(
    Variant,
    name=some(["a", "b"]),
    precision=some(["fp32", "int8"]),
    artifact=ARTIFACTS,
    graph=st.none() | GRAPHS,
    requires=st.none() | REQUIREMENTS,
    accuracy_loss=SHARES,
)
PICTURES = st.builds(
    Picture,
    size=st.just((28, 28)),
    color=st.just("gray"),
    polarity=st.just("light-on-dark"),
    scale=some([1, 1.0, 0.1, 1e300, 255]),
)
INPUTS = st.builds(
    Input, name=some(["x"]), dtype=some(["float32"]), shape=some([(), ("n", 1)]), picture=st.none() | PICTURES
)
OUTPUTS = st.builds(Output, name=some(["y"]), dtype=some(["bool"]), shape=st.just((1,)))
RELEASES = st.builds(
    Release,
    name=some(["a/b", "a/c"]).map(ModelName),
    version=some(["1.0", "2.0rc1"]),
    channel=some(["stable", "preview"]),
    license=some(["MIT"]),
    summary=st.text(max_size=5),
    task=some(["t"]),
    variants=st.lists(VARIANTS, min_size=1, max_size=2).map(tuple),
    inputs=st.lists(INPUTS, max_size=1).map(tuple),
    outputs=st.lists(OUTPUTS, max_size=1).map(tuple),
    accuracy_limit=SHARES,
)
