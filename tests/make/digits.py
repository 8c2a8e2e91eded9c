"""Train the built-in model of digits and write its release: ``python -m inferry.tests.make.digits``.

Needs torch, scikit-learn and onnx beside the package. Seeds are fixed; another processor may differ in the last digits.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from inferry.catalog.manifest import read_manifest
from inferry.runtime.picture import read
from inferry.tests.drawing import draw

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "index/builtin/inferry/digits"
MANIFEST = RELEASE / "manifest.toml"
HELD_OUT = 450
DRAWN = 6  # pictures of each digit
EPOCHS = 12
SAMPLE = 19  # of the held-out rows
SCALERS = (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
INPUT = read_manifest(MANIFEST.read_text(encoding="utf-8"), where=str(MANIFEST)).inputs[0]


def pictures(rows: np.ndarray, chance: np.random.Generator, times: int) -> np.ndarray:
    """Draw each row so many times, at any size and place, and read the pictures as the program does."""
    tensors = []
    for row in np.repeat(rows, times, axis=0):
        side, light = int(chance.integers(20, 401)), bool(chance.integers(2))
        scaler, corner = SCALERS[chance.integers(3)], tuple(chance.uniform(size=2))
        picture = draw(row, side, light_on_dark=light, scaler=scaler, corner=corner)
        tensors.append(read(picture, INPUT.picture, what=INPUT.name))
    return np.concatenate(tensors)


def train(images: np.ndarray, labels: np.ndarray) -> torch.nn.Sequential:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(32 * 7 * 7, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )
    steps = EPOCHS * -(-len(images) // 128)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    for epoch in range(EPOCHS):
        losses = []
        for batch in torch.randperm(len(x)).split(128):
            loss = torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {np.mean(losses):.4f}")
    return net.eval()


def build(net: torch.nn.Sequential) -> bytes:
    """Return the net as ONNX, opset 17 and IR 8, with a free batch axis."""
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    weights = {name.replace(".", "_"): value.detach().numpy() for name, value in net.named_parameters()}
    same, half = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["image", "0_weight", "0_bias"], ["c1"], **same),
        node("Relu", ["c1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], **half),
        node("Conv", ["p1", "3_weight", "3_bias"], ["c2"], **same),
        node("Relu", ["c2"], ["r2"]),
        node("MaxPool", ["r2"], ["p2"], **half),
        node("Flatten", ["p2"], ["flat"]),
        node("Gemm", ["flat", "8_weight", "8_bias"], ["g1"], transB=1),
        node("Relu", ["g1"], ["r3"]),
        node("Gemm", ["r3", "10_weight", "10_bias"], ["logits"], transB=1),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "digits",
        [info("image", onnx.TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [info("logits", onnx.TensorProto.FLOAT, ["batch", 10])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def sample(row: np.ndarray) -> bytes:
    """Return one digit as a person would show it: dark on light, with the edges of a pen's stroke."""
    blurred = Image.open(io.BytesIO(draw(row, 160, light_on_dark=False)))
    stroke = blurred.point([min(max((value - 105) * 3 + 128, 25), 255) for value in range(256)])
    picture = io.BytesIO()
    stroke.save(picture, "PNG", optimize=True)
    return picture.getvalue()


def right(model: bytes, images: np.ndarray, labels: np.ndarray) -> float:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return float((session.run(None, {"image": images})[0].argmax(1) == labels).mean())


def write(path: str, data: bytes) -> None:
    """Write a file of the release, and its digest and size into the manifest."""
    (RELEASE / path).write_bytes(data)
    sealed = f'\\g<1>digest = "sha256:{hashlib.sha256(data).hexdigest()}"\nsize_bytes = {len(data)}\n'
    entry = rf'(path = "{re.escape(path)}"\n(?:media_type = .+\n))digest = .+\nsize_bytes = .+\n'
    text, count = re.subn(entry, sealed, MANIFEST.read_text(encoding="utf-8"))
    assert count == 1, path
    MANIFEST.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    digits = load_digits()
    rows, labels = digits.data.astype(int), digits.target.astype(np.int64)
    seen, held, seen_labels, held_labels = train_test_split(
        rows, labels, test_size=HELD_OUT, random_state=0, stratify=labels
    )
    chance = np.random.default_rng(0)
    model = build(train(pictures(seen, chance, DRAWN), np.repeat(seen_labels, DRAWN)))
    print(f"{len(model)} bytes; right on held-out: {right(model, pictures(held, chance, 1), held_labels):.4f}")
    write("digits-fp32.onnx", model)
    chosen = [index for digit in range(10) for index in np.flatnonzero(held_labels == digit)[:2]]
    told = [{"label": str(held_labels[index]), "values": held[index].tolist()} for index in chosen]
    lines = ",\n".join(f"  {json.dumps(one)}" for one in told)
    (ROOT / "tests/assets/digits.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")
    write("sample.png", sample(held[SAMPLE]))


if __name__ == "__main__":
    main()
