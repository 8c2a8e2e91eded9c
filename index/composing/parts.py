"""Parts: the variants and artifacts of a release that is composed, each held against its file."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, get_args

import msgspec

from ...catalog.errors import (
    Error,
    InvalidManifest,
    InvalidModel,
    LibraryMissing,
    MachineError,
    ModelNotFound,
    VerificationError,
)
from ...catalog.operators import read_graph
from ...catalog.values import canonical
from ...catalog.values.digest import Digest
from ...catalog.values.model import Artifact, Precision
from ...registry.inspect import inspect
from ..files import explained, hash_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...catalog.values.graph import Graph
    from ...registry.inspect import Inspected

MEDIA: Final = {
    ".json": "application/json",
    ".md": "text/markdown",
    ".npz": "application/zip",
    ".onnx": "application/vnd.onnx",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".txt": "text/plain",
}
"""The media types of files, by suffix; Python's own table differs between machines."""
_ANY: Final = "application/octet-stream"
_TEXT: Final = "text/plain"
_LONGEST: Final = 300
_ORDER: Final = get_args(Precision)

Table = dict[str, Any]


class Problem(NamedTuple):
    """What is wrong with a release."""

    field: str
    """Its path, such as ``variants[0].artifact.digest``."""
    message: str
    kind: type[Error] = InvalidManifest
    """What is raised where all are of it."""
    hints: tuple[str, ...] = ()


class Parts:
    """The artifacts of one folder: what they are called in a manifest is completed from their files."""

    def __init__(self, folder: Path, redistribution: str) -> None:
        """Read in ``folder``; what is composed, and not written by anybody, has this ``redistribution``."""
        self.folder = folder
        self.redistribution = redistribution
        self.problems: list[Problem] = []
        self.inspected: dict[str, Inspected] = {}

    def variants(self, files: Sequence[Path]) -> list[Table]:
        """Return a variant for each of these ONNX files, in the order of precisions, and then of their names."""
        made: list[Table] = []
        for file in files:
            table: Table = {"artifact": {"path": file.name, "redistribution": self.redistribution}}
            if it := self._look(file.name, f"variants[{len(made)}].artifact", needed=True):
                table["precision"] = it.precision
            made.append(table)
        if not self.problems:
            made.sort(key=lambda each: (_ORDER.index(each["precision"]), each["artifact"]["path"]))
        return made

    def fill(self, data: Table) -> None:
        """Complete all artifacts of a release, and its variants."""
        whole = all(_has_faces(data, key) for key in ("inputs", "outputs"))
        named: list[Table] = []
        for place, variant in enumerate(_tables(data["variants"])):
            if is_table(artifact := variant.get("artifact")) and isinstance(artifact.get("path"), str):
                self._variant(variant, f"variants[{place}]", whole=whole)
                named.append(variant)
        self._name(named)
        if data["variants"] == []:
            self.problems.append(Problem("variants", "a release has at least one, and there is no ONNX file"))
        for key in ("card", "license_text"):
            self._artifact(data.get(key), key)
        for place, pair in enumerate(_tables(data.get("golden"))):
            for key in ("inputs", "outputs"):
                self._artifact(pair.get(key), f"golden[{place}].{key}")
        for place, told in enumerate(_tables(data.get("inputs"))):
            self._artifact(told.get("sample"), f"inputs[{place}].sample")

    def disagree(self, field: str, said: object, told: object, kind: type[Error] = InvalidManifest) -> None:
        """Note that a field says one thing, and the file another."""
        hint = "write what the file says, or leave it out, if that is the right file"
        self.problems.append(
            Problem(field, f"the manifest says {_short(said)}, and the file {_short(told)}", kind, (hint,))
        )

    def _variant(self, variant: Table, field: str, *, whole: bool) -> None:
        path: str = variant["artifact"]["path"]
        if not self._artifact(variant["artifact"], f"{field}.artifact"):
            return
        needed = not (whole and "precision" in variant)
        if not needed and not path.lower().endswith(".onnx"):  # ONNX Runtime's own format, say
            return
        it = self._look(path, f"{field}.artifact", needed=needed)
        graph = it.graph if it else self._graph(path, f"{field}.artifact")
        if it:
            stated = variant.setdefault("precision", it.precision)
            told = it.weighed.precision
            if told and stated not in (told, "mixed") and told != "mixed":
                self.disagree(f"{field}.precision", stated, told)
        if graph:
            self._state_graph(variant, graph, field)
            self._external(variant, graph, field)

    def _look(self, path: str, field: str, *, needed: bool) -> Inspected | None:
        """Return what an ONNX file is; ``None`` where it is none, or where onnx is not here and not ``needed``."""
        if path in self.inspected:
            return self.inspected[path]
        if any(each.field == field for each in self.problems):
            return None
        try:
            self.inspected[path] = inspect(self.folder / path)
        except (InvalidModel, MachineError, ModelNotFound) as error:
            kind = type(error) if not isinstance(error, ModelNotFound) else MachineError
            self.problems.append(Problem(field, error.message, kind, error.hints()))
        except LibraryMissing:
            if needed:
                raise
        return self.inspected.get(path)

    def _graph(self, path: str, field: str) -> Graph | None:
        """Return what an ONNX file needs of a runtime, which takes no onnx."""
        if any(each.field == field for each in self.problems):
            return None
        try:
            with explained(self.folder / path, done="read"):
                return read_graph((self.folder / path).read_bytes())
        except InvalidModel as error:
            self.problems.append(Problem(field, f"{self.folder / path}: {error.message}", InvalidModel))
            return None

    def _state_graph(self, variant: Table, graph: Graph, field: str) -> None:
        told: Table = msgspec.json.decode(canonical.encode(graph))
        stated = variant.setdefault("graph", told)
        for key in graph.__struct_fields__ if is_table(stated) else ():
            if key in stated and stated[key] != told.get(key, []):
                self.disagree(f"{field}.graph.{key}", stated[key], told.get(key, []))

    def _external(self, variant: Table, graph: Graph, field: str) -> None:
        """Complete the files that a variant keeps tensors in."""
        artifact = variant["artifact"]
        above = PurePosixPath(artifact["path"]).parent
        paths = [str(above / each) for each in graph.external]
        may = artifact.get("redistribution")
        if paths and "external_data" not in variant:
            variant["external_data"] = [{"path": each, **({"redistribution": may} if may else {})} for each in paths]
        tables = _tables(variant.get("external_data"))
        lacking = sorted({*paths} - {str(each.get("path")) for each in tables})
        if lacking and is_list(variant.get("external_data")):
            self.problems.append(
                Problem(f"{field}.external_data", f"{artifact['path']} keeps tensors in {', '.join(lacking)} too")
            )
        for place, each in enumerate(tables):
            self._artifact(each, f"{field}.external_data[{place}]")

    def _artifact(self, artifact: object, field: str) -> bool:
        """Complete what names a file; return whether that is the one that is named."""
        if not is_table(artifact) or not isinstance(path := artifact.get("path"), str):
            return False
        if wrong := _why_not(path):
            self.problems.append(Problem(f"{field}.path", wrong))
            return False
        file = self.folder / path
        try:
            with explained(file, done="read"):
                size, digest = file.stat().st_size, hash_file(file)
        except MachineError as error:
            self.problems.append(Problem(f"{field}.path", error.message, MachineError, error.hints()[:1]))
            return False
        artifact.setdefault("media_type", _media(path, field))
        agrees = True
        for key, told in (("digest", digest), ("size_bytes", size)):
            if artifact.setdefault(key, told) != told:
                agrees = False
                self.disagree(f"{field}.{key}", artifact[key], told, VerificationError)
        return agrees

    def _name(self, variants: list[Table]) -> None:
        """Call variants without a name by their precision, or by their files where that would be two's."""
        stated = [each["name"] for each in variants if isinstance(each.get("name"), str)]
        left = [
            (each, each["precision"], PurePosixPath(each["artifact"]["path"]).stem)
            for each in variants
            if "name" not in each and isinstance(each.get("precision"), str)
        ]
        precisions = [precision for _, precision, _ in left]
        names = [precision if precisions.count(precision) == 1 else stem for _, precision, stem in left]
        if len({*names, *stated}) < len(names) + len(stated):
            names = [stem for _, _, stem in left]
        for (each, _, _), name in zip(left, names, strict=True):
            each["name"] = name
        told = [*stated, *names]
        if twice := sorted({name for name in told if told.count(name) > 1}):
            self.problems.append(Problem("variants", f"two of them are called {twice[0]}"))


def is_table(value: object) -> TypeGuard[Table]:
    """Return whether a part of a document is a table."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a part of a document is a list."""
    return isinstance(value, list)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _tables(value: object) -> list[Table]:
    return [each for each in value if is_table(each)] if is_list(value) else []


def _has_faces(data: Table, key: str) -> bool:
    """Return whether inputs or outputs are said in full."""
    told = data.get(key)
    return is_list(told) and all(is_table(each) and {"name", "dtype", "shape"} <= {*each} for each in told)


def _why_not(path: str) -> str:
    """Return why an artifact may not have this path; nothing where it may."""
    try:
        Artifact(path=path, media_type="", digest=Digest.of(b""), size_bytes=0)
    except ValueError as error:
        return str(error).removeprefix("path: ")
    return ""


def _media(path: str, field: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    return MEDIA.get(suffix) or (_TEXT if field == "license_text" else _ANY)
