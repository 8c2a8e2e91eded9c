"""The built-in model reads pictures of digits that it has not seen, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from inferry.cli import inferry as group
from inferry.tests.drawing import draw

HELD_OUT = json.loads((Path(__file__).parents[1] / "assets/digits.json").read_text(encoding="utf-8"))


def test_it_reads_clean_pictures_of_any_size(tmp_path: Path) -> None:
    """The first two held-out digits of each kind, from 20 to 400 pixels, every other one light on dark."""
    assert len(HELD_OUT) == 20
    wrong = []
    for place, digit in enumerate(HELD_OUT):
        file = tmp_path / f"{place}.png"
        file.write_bytes(draw(digit["values"], 20 + 20 * place, light_on_dark=place % 2 == 1))
        told = CliRunner().invoke(group, ["run", "inferry/digits", "--input", f"image={file}"])
        assert told.exit_code == 0, told.output
        if told.stdout.split()[0] != digit["label"]:
            wrong.append((place, digit["label"], told.stdout))
    assert len(wrong) <= 2, wrong
