"""Compose: an ONNX file or a folder becomes a release: what is said of it is held against its files, and completed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ...catalog.errors import InvalidManifest, MachineError, ModelNotFound
from ...catalog.fields import Wrong, all_wrong, words, wrong
from ...catalog.toml import parse_toml
from ...catalog.values.canonical import from_text
from ...catalog.values.model import Release
from .faces import merge
from .parts import Parts, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from ...registry.inspect import Inspected
    from .parts import Table

MANIFEST: Final = "manifest.toml"
TASK: Final = "other"
"""Of a model for which nobody says one."""
_SUFFIX: Final = ".onnx"
_CARDS: Final = ("card.md", "readme.md")
_LICENCES: Final = ("license", "licence")
_SAY: Final = {"name": "--name NS/NAME", "version": "--version V", "license": "--license ID"}
_GRAMMAR: Final = "write namespace/name, as acme/add, with letters, digits, `.`, `_` and `-`"
_COMPUTED: Final = frozenset(
    {"digest", "dtype", "inputs", "media_type", "name", "outputs", "precision", "shape", "size_bytes"}
)
_MISSING: Final = "Object missing required field"


class Flags(NamedTuple):
    """What is said of a release beside its manifest, or over what that says."""

    name: str | None = None
    version: str | None = None
    license: str | None = None
    """An SPDX expression. Whoever says it of a file of theirs hands that out: others may hand it on."""
    summary: str | None = None
    task: str | None = None
    channel: str | None = None


class Composed(NamedTuple):
    """What a file or folder comes to."""

    where: Path
    """Its manifest, or else the file or folder."""
    folder: Path
    """Where its artifacts lie."""
    release: Release | None
    """``None`` where a problem leaves none."""
    inspected: dict[str, Inspected]
    """What was found in ONNX files, by the paths of the artifacts."""
    problems: tuple[Problem, ...]
    text: str
    """Of the manifest."""

    def checked(self) -> Release:
        """Return the release.

        Raises:
            InvalidManifest: there are problems; ``fields`` names all.
            VerificationError: all are of files that are not those that the manifest names.
            InvalidModel: all are of files that are no ONNX models.
            MachineError: all are of files that cannot be read.
        """
        if self.release and not self.problems:
            return self.release
        told = words([Wrong(each.field, each.message) for each in self.problems], self.text, str(self.where))
        hints = tuple(dict.fromkeys(hint for each in self.problems for hint in each.hints))
        kinds = {each.kind for each in self.problems}
        kind = kinds.pop() if len(kinds) == 1 else InvalidManifest
        if issubclass(kind, InvalidManifest):
            fields = [each.field for each in self.problems]
            raise InvalidManifest(told, field=fields[0], fields=fields, hints=hints)
        raise kind(told, hints=hints)


def compose(path: Path, flags: Flags | None = None) -> Composed:
    """Return what ``path`` comes to: a folder, with a manifest or without, a manifest, or an ONNX file.

    The manifest may leave out what its files tell: of artifacts digest, size and media type; of variants name,
    precision, graph and other files with tensors; inputs and outputs. Without variants, or without a manifest, each
    ONNX file in the folder is one.

    Raises:
        ModelNotFound: there is nothing of the kind.
        InvalidManifest: the manifest is not TOML.
        MachineError: the manifest cannot be read.
        LibraryMissing: something must be read from an ONNX file, and onnx is not here.
    """
    flags = flags or Flags()
    where, files = _found(path)
    folder = path if path.is_dir() else path.parent
    text = _text(where) if where.suffix == ".toml" else ""
    said = parse_toml(text, where=str(where), failure=InvalidManifest)
    data = said | {key: value for key, value in flags._asdict().items() if value is not None}
    # Who names the licence of a file of theirs hands it out; what a manifest says of its files stays as it is.
    parts = Parts(folder, "allowed" if not text or flags.license else "unknown")
    if flags.license:
        data["license"] = _licence(flags.license, parts.problems)
    if "variants" not in data:
        data["variants"] = parts.variants(_listed(folder) if files is None else files)
    if not text and path.is_dir():
        _add_papers(data, folder, parts.redistribution)
    parts.fill(data)
    merge(data, parts)
    data.setdefault("task", TASK)
    data.setdefault("summary", f"{data.get('name')} ({data['task']})")
    release, found = _converted(data, parts.problems)
    if not text and (folder / MANIFEST).exists():
        hint = f"the {MANIFEST} beside it was not read: name the folder for that"
        found = [each._replace(hints=(hint,)) if each.field in _SAY else each for each in found]
    return Composed(where, folder, release, parts.inspected, (*parts.problems, *found), text)


def _found(path: Path) -> tuple[Path, list[Path] | None]:
    """Return what is read first, and the ONNX file, if it is one alone; raise ``ModelNotFound``."""
    if path.is_dir():
        if (path / MANIFEST).exists():
            return path / MANIFEST, None
        if not _listed(path):
            raise ModelNotFound(f"the folder {path} holds neither a {MANIFEST} nor an ONNX file")
        return path, None
    if not path.is_file():
        raise ModelNotFound(f"there is no file or folder {path}")
    if path.suffix == ".toml":
        return path, None
    return path, [path]


def _listed(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.suffix.lower() == _SUFFIX and each.is_file())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidManifest(f"{path}: not UTF-8: {error}") from error
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror or error}") from error


def _licence(said: str, problems: list[Problem]) -> str:
    """Return an SPDX expression in its normal form; note where it is none."""
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

    try:
        return canonicalize_license_expression(said)
    except InvalidLicenseExpression:
        hint = "give one of spdx.org/licenses, such as MIT or Apache-2.0, or a name of your own: LicenseRef-Acme"
        problems.append(Problem("license", f"`{said[:100]}` is no SPDX expression", hints=(hint,)))
        return said


def _add_papers(data: Table, folder: Path, redistribution: str) -> None:
    """Take the card and the licence's text that lie in a folder."""
    names = sorted(each.name for each in folder.iterdir() if each.is_file())
    cards = [each for card in _CARDS for each in names if each.lower() == card]
    licences = [each for each in names if each.lower().startswith(_LICENCES)]
    for key, found in (("card", cards), ("license_text", licences)):
        if found:
            data[key] = {"path": found[0], "redistribution": redistribution}


def _converted(data: Table, before: list[Problem]) -> tuple[Release | None, list[Problem]]:
    try:
        return msgspec.convert(data, Release, dec_hook=from_text), []
    except msgspec.ValidationError as error:
        found = list(all_wrong(data, Release, from_text)) or [wrong(error)]
    told = {each.field for each in before}
    missing = {each.field for each in found if each.message.startswith(_MISSING)}
    computed = {each for each in missing if each.rpartition(".")[2] in _COMPUTED and each not in _SAY}
    others = [each for each in found if each.field not in computed | told]
    say = {each: f"nobody says it: give {_SAY[each]}, or write it into {MANIFEST}" for each in missing & {*_SAY}}
    # What is lacking because a file could not be read is no news beside the reason.
    shown = others if others or before else found
    hints = {"name": (_GRAMMAR,)} if "name" not in missing else {}
    return None, [Problem(field, say.get(field, message), hints=hints.get(field, ())) for field, message in shown]
