"""Train the built-in model of digits and write its release: ``python -m inferry.tests.make.digits``.

Needs beside the package: torch, scikit-learn, mlxtend, matplotlib, onnx, and the fonts of font-amatic-sc, font-caladea,
font-fjallaone, font-fredoka-one, font-hanken-grotesk, font-intuitive, font-lato, font-manrope, font-rhd, font-roboto,
font-source-sans-pro and font-source-serif-pro. Seeds are fixed; another processor may differ in the last digits.
"""

from __future__ import annotations

import base64
import json
import math
import os
import tempfile
import zlib
from pathlib import Path

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnx
import onnxruntime

from inferry.tests.drawing import draw, png
from inferry.tests.make.digits.data import Shapes, sets
from inferry.tests.make.digits.graph import build, sealed
from inferry.tests.make.digits.net import EPOCHS, train
from inferry.tests.make.digits.pictures import MANIFEST, tensors
from inferry.tests.make.digits.release import CARD, packed, table, write, write_graph, write_loss
from inferry.tests.make.digits.variants import eight_bits, half

ASSET = MANIFEST.parents[4] / "tests/assets/digits.json"
TIMES = {"scikit-learn": 8, "MNIST": 4, "fonts": 12}
"""Pictures of each shape that is seen; half of them are noisy."""
CALIBRATED = 2000
"""Of the pictures seen, how many the 8 bits are fitted to."""
SAMPLE = 19
"""Of the held-out digits of scikit-learn, the one that is the sample."""

Tensors = tuple[np.ndarray, np.ndarray]


def run(model: bytes, images: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {"image": images})[0]


def right(model: bytes, measured: Tensors) -> float:
    images, labels = measured
    return float((run(model, images).argmax(1) == labels).mean())


def sample(shape: np.ndarray) -> bytes:
    """Return one digit as a person would show it: dark on light, with the edges of a pen's stroke."""
    stroke = draw(shape, 160, light_on_dark=False).astype(float)
    return png(np.clip((stroke - 105) * 3 + 128, 25, 255).astype(np.uint8))


def asset(held: list[Shapes]) -> str:
    """Return the first five of each digit that are held out of the handwritten sets, as the tests read them."""
    lines = []
    for shapes in held:
        for digit in range(10) if shapes.name != "fonts" else ():
            for index in np.flatnonzero(shapes.labels == digit)[:5]:
                pixels = base64.b64encode(zlib.compress(shapes.pixels[index].tobytes(), 9)).decode()
                lines.append(json.dumps({"from": shapes.name, "label": str(digit), "pixels": pixels}))
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


def variants(images: np.ndarray, labels: np.ndarray) -> dict[str, bytes]:
    """Train, and return the ONNX file of each variant."""
    whole = build(train(images, labels))
    chosen = np.random.default_rng(0).choice(len(images), CALIBRATED, replace=False)
    with tempfile.TemporaryDirectory() as folder:
        small = eight_bits(whole, images[chosen], str(Path(folder, "int8.onnx")))
    return {"fp32": sealed(whole), "fp16": sealed(half(whole)), "int8": sealed(small)}


def measured(held: list[Shapes]) -> dict[str, Tensors]:
    """Return what is held out, clean and noisy."""
    return {
        f"{shapes.name}, {paper}": tensors(shapes, 2, noisy=noisy, varied=False, seed=100 + 10 * noisy + place)
        for place, shapes in enumerate(held)
        for noisy, paper in enumerate(("clean", "noisy"))
    }


def golden(held: dict[str, Tensors]) -> np.ndarray:
    """Return ten held-out tensors, one of each digit, of both handwritten sets, clean and noisy."""
    chosen = [held[name] for name in held if "fonts" not in name]
    turns = [chosen[digit % len(chosen)] for digit in range(10)]
    return np.stack([images[labels == digit][0] for digit, (images, labels) in enumerate(turns)])


def accuracies(models: dict[str, bytes], held: dict[str, Tensors]) -> str:
    """Measure all variants, write what they lose into the manifest, and return the card's table."""
    together = tuple(np.concatenate(parts) for parts in zip(*held.values(), strict=True))
    first = right(next(iter(models.values())), together)
    rows = {}
    for name, model in models.items():
        lost = max(0.0, first - right(model, together))
        if model is not next(iter(models.values())):
            write_loss(name, lost)
        shares = [f"{right(model, one):.4f}" for one in held.values()]
        rows[f"`{name}`"] = [f"{len(model):,}", *shares, f"{lost:.4f}"]
    return table(rows, "variant", "bytes", *held, "lost")


def main() -> None:
    seen, held = sets()
    drawn = [tensors(shapes, TIMES[shapes.name], noisy=0.5, varied=True, seed=n) for n, shapes in enumerate(seen)]
    images, labels = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    read_well = images.any(axis=(1, 2, 3))
    images, labels = images[read_well], labels[read_well]
    models, unseen = variants(images, labels), measured(held)
    for name, model in models.items():
        write(f"digits-{name}.onnx", model)
        write_graph(f"digits-{name}.onnx", model)
    inputs = golden(unseen)
    write("golden-inputs.npz", packed(image=inputs))
    write("golden-outputs.npz", packed(logits=run(models["fp32"], inputs)))
    sizes = {a.name: [f"{len(a.labels):,}", f"{len(b.labels):,}"] for a, b in zip(seen, held, strict=True)}
    card = CARD.read_text(encoding="utf-8").format(
        weights=sum(math.prod(one.dims) for one in onnx.load_from_string(models["fp32"]).graph.initializer),
        data="\n".join(table(sizes, "", "", "").splitlines()[2:]),
        pictures=len(images),
        epochs=EPOCHS,
        calibrated=CALIBRATED,
        accuracy=accuracies(models, unseen),
    )
    print(card)
    write("card.md", card.encode())
    write("LICENSE", (MANIFEST.parent / "LICENSE").read_text(encoding="utf-8").encode())
    write("sample.png", sample(held[0].pixels[SAMPLE]))
    ASSET.write_text(asset(held), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
