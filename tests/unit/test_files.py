"""Files: patience, links, and long names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inferry.catalog.values.digest import Digest
from inferry.index.files import extended, hash_file, lay_out, patiently, reachable, remove, replace


class Held:
    """A rename of a file that a scanner lets go of after some tries."""

    def __init__(self, refusals: int, code: int | None = 32) -> None:
        self.tries = 0
        self._refusals = refusals
        self._code = code

    def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self._refusals:
            error = PermissionError(13, "The process cannot access the file because it is being used")
            error.winerror = self._code  # type: ignore[attr-defined, unused-ignore]
            raise error
        return "done"


@pytest.mark.parametrize("code", [5, 32, 33])
def test_a_file_that_a_scanner_holds_is_tried_again(code: int) -> None:
    held = Held(3, code)
    assert patiently(held, waits_s=(0, 0, 0)) == "done"
    assert held.tries == 4


def test_patience_ends(tmp_path: Path) -> None:
    held = Held(100)
    with pytest.raises(PermissionError):
        patiently(held, waits_s=(0, 0, 0))
    assert held.tries == 4
    assert tmp_path.exists()


@pytest.mark.parametrize("code", [None, 2, 112])
def test_any_other_refusal_is_final(code: int | None) -> None:
    held = Held(1, code)
    with pytest.raises(PermissionError):
        patiently(held)
    assert held.tries == 1


def test_what_is_removed_may_be_a_file_a_folder_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder/in it").mkdir(parents=True)
    (tmp_path / "file").touch()
    for name in ("folder", "file", "nothing"):
        remove(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_is_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "new").write_bytes(b"new")
    replace(tmp_path / "new", tmp_path / "old")
    assert hash_file(tmp_path / "old") == Digest.of(b"new")


def test_a_path_is_made_absolute_and_loses_its_dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert reachable(Path("a/../b")) == tmp_path / "b"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (r"C:\short", r"C:\short"),
        ("C:\\" + "x" * 200, r"\\?\C:" + "\\" + "x" * 200),
        (r"\\server\share" + "\\" + "x" * 200, r"\\?\UNC\server\share" + "\\" + "x" * 200),
        (r"\\?\C:" + "\\" + "x" * 200, r"\\?\C:" + "\\" + "x" * 200),
    ],
)
def test_a_long_path_of_windows_has_its_mark(path: str, told: str) -> None:
    assert extended(path) == told


def test_a_failed_layout_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        lay_out(tmp_path / "missing", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["target"]  # noqa: PTH208 - names are what is meant
