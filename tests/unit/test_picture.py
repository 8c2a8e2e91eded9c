"""Pictures become tensors by what is declared, whatever they look like."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from inferry.catalog.errors import InvalidInput
from inferry.catalog.values.picture import Crop, Picture
from inferry.runtime.picture import read

PLAIN = Picture(size=(28, 28), color="gray", polarity="light-on-dark")
BOX = Crop(shrink=112, threshold="otsu")
CLOSE = Picture(
    size=(28, 28),
    color="gray",
    polarity="light-on-dark",
    crop=BOX,
    margin=4,
    center="mass",
)


def stroke(paper: int = 230, ink: int = 40) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """A bar of 6 x 12 pixels, off the middle."""
    pixels = np.full((60, 90), paper, np.uint8)
    pixels[10:22, 60:66] = ink
    return pixels


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def test_the_box_around_the_drawing_fills_the_target_less_its_margin() -> None:
    tensor = read(stroke(), CLOSE, what="it")
    assert tensor.shape == (1, 1, 28, 28)
    assert tensor.dtype == np.float32
    assert tensor.flags.c_contiguous
    rows, columns = np.nonzero(tensor[0, 0] > 0.5)
    assert (rows.min(), rows.max()) == (4, 23)
    assert columns.max() - columns.min() + 1 == 10
    assert abs(columns.mean() - 13.5) <= 0.5


def test_polarity_and_contrast_make_no_difference() -> None:
    wanted = read(stroke(), CLOSE, what="it")
    for paper, ink in ((40, 230), (255, 0), (0, 255), (200, 120), (100, 20)):
        np.testing.assert_allclose(read(stroke(paper, ink), CLOSE, what="it"), wanted, atol=1e-5)


def test_dark_on_light_is_the_inverse() -> None:
    dark = Picture(size=(28, 28), color="gray", polarity="dark-on-light")
    np.testing.assert_allclose(read(stroke(), dark, what="it"), 1 - read(stroke(), PLAIN, what="it"), atol=1e-6)


def test_scale_is_what_the_light_end_becomes() -> None:
    to_255 = Picture(size=(28, 28), color="gray", polarity="light-on-dark", crop=BOX, scale=255.0)
    assert read(stroke(), to_255, what="it").max() == 255


def test_without_a_crop_the_whole_picture_is_taken() -> None:
    tensor = read(stroke(), PLAIN, what="it")[0, 0]
    row, column = (float(np.average(at, weights=tensor)) for at in np.indices(tuple(tensor.shape)))
    # 90 x 60 pixels become 28 x 19, with 4 rows of paper above.
    assert row == pytest.approx(4 + 16 * 19 / 60 - 0.5, abs=0.1)
    assert column == pytest.approx(63 * 28 / 90 - 0.5, abs=0.1)


def test_every_kind_of_file_says_the_same() -> None:
    gray = Image.fromarray(stroke())
    wanted = read(stroke(), CLOSE, what="it")
    clear = Image.new("RGBA", gray.size, (0, 0, 0, 0))
    clear.paste((20, 20, 20, 255), (60, 10, 66, 22))
    white_on_clear = Image.new("RGBA", gray.size, (0, 0, 0, 0))
    white_on_clear.paste((250, 250, 250, 255), (60, 10, 66, 22))
    deep = Image.fromarray(stroke().astype(np.uint16) * 257)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by a quarter to the right
    kinds = {
        "gray": gray,
        "colour": gray.convert("RGB"),
        "palette": gray.convert("RGB").quantize(4),
        "two levels": gray.convert("1", dither=Image.Dither.NONE),
        "transparent paper": clear,
        "light ink on transparent paper": white_on_clear,
        "16 bits": deep,
    }
    for kind, image in kinds.items():
        np.testing.assert_allclose(read(encoded(image), CLOSE, what=kind), wanted, atol=0.02, err_msg=kind)
        np.testing.assert_allclose(read(image, CLOSE, what=kind), wanted, atol=0.02, err_msg=kind)
    turned = encoded(gray.transpose(Image.Transpose.ROTATE_90), exif=exif)
    np.testing.assert_allclose(read(turned, CLOSE, what="turned"), wanted, atol=0.02)
    np.testing.assert_allclose(read(encoded(gray, "JPEG", quality=95), CLOSE, what="JPEG"), wanted, atol=0.3)
    np.testing.assert_allclose(read(np.stack([stroke()] * 3, 2), CLOSE, what="pixels"), wanted, atol=0.02)


BAD = {
    "no picture": (b"name = 'acme'", "no picture that can be read"),
    "nothing": (b"", "no picture that can be read"),
    "cut short": (encoded(Image.fromarray(stroke()))[:90], "cannot be read as a picture"),
    "one colour": (encoded(Image.new("L", (30, 30), 200)), "is empty"),
    "enormous": (encoded(Image.new("1", (9000, 9000))), "9000 x 9000 pixels"),
    "five channels": (np.zeros((9, 9, 5), np.uint8), "cannot be read as a picture"),
    "no pixels": (np.zeros((0, 9), np.uint8), "9 x 0 pixels"),
}


@pytest.mark.parametrize(("value", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_told(value: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        read(value, CLOSE, what="input `image`")
    assert caught.value.message.startswith("input `image`")
