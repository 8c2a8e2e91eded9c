"""Worlds: folders with models and indexes, a home that holds some of them, and a machine."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from onnx import TensorProto, helper

from inferry import Client
from inferry.catalog.settings import Effective
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.settings import Machine
from inferry.tests.indexes import small_index
from inferry.tests.models import model, one_node, saved
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path


class World(NamedTuple):
    """Where commands are called: a folder with models, a home and a machine's settings."""

    folder: Path
    home: Path
    machine: Path

    def source(self, name: str) -> None:
        """Set up the index in one of its folders as a source."""
        wish = Wish(str(self.folder / name), root=self.folder / name / "metadata/1.root.json")
        SourceList(Machine(self.machine), Effective, self.home).add(wish, Transport())


def fill(root: Path) -> World:
    """Return a world below ``root`` whose home holds two models."""
    world = World(root / "here", root / "home", root / "machine")
    world.machine.mkdir()
    publish(world.folder / "adder", precisions=("fp32", "fp16"), files={"CARD.md": b"# Adds\n"})
    publish(world.folder / "bent", "acme/bent")
    (world.folder / "bent/fp32.onnx").write_bytes(b"other bytes")
    (world.folder / "model.onnx").write_bytes(one_node("Log"))
    (world.folder / "below.json").write_text("[[-1, 0, 1]]", encoding="utf-8")
    (world.folder / "maps.onnx").write_bytes(maps())
    (world.folder / "late.onnx").write_bytes(late())
    (world.folder / "noise.onnx").write_bytes(b"noise")
    small_index(world.folder, world.home / "keys")
    Client(home=world.home).prepare(["inferry/digits", world.folder / "adder"])
    shutil.copytree(world.folder / "site", world.folder / "other")
    return world


def maps() -> bytes:
    """Return a model with an output that is no array."""
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["one", "two"])
    made = model(node, inputs={"x": (TensorProto.FLOAT, (1, 2))}, outputs={}, opsets={"": 17, "ai.onnx.ml": 1})
    of_one = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    made.graph.output.append(helper.make_value_info("y", helper.make_sequence_type_proto(of_one)))
    return saved(made)


def late() -> bytes:
    """Return a model that opens, and fails when it runs."""
    node = helper.make_node("Gather", ["x", "at"], ["y"])
    at = helper.make_tensor("at", TensorProto.INT64, (1,), [7])
    told = TensorProto.FLOAT, ("n",)
    return saved(model(node, inputs={"x": told}, outputs={"y": told}, weights=(at,)))
