"""The reference pages that are made from the program itself: ``python -m inferry.tests.pages`` writes them."""

from __future__ import annotations

import ast
import inspect
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.testing import CliRunner

import inferry as door
from inferry.catalog import errors
from inferry.catalog.values import document, link, listing, location, model, picture
from inferry.cli import inferry
from inferry.index import wire
from inferry.tests.answers import ANSWERS, profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

REFERENCE = Path(__file__).resolve().parents[1] / "docs/reference"


def commands() -> str:
    pages = [
        "# Commands",
        "`inferry` and `catalog` are the same program; so is `python -m inferry`.",
        """What was asked for goes to stdout, words about it and errors to stderr. An error is one line `error: …` and
lines `hint: …` that say what to do; wrong options and arguments are told so, too, with exit code 2. The other exit
codes stand in [errors](errors.md). With `--json` the answer, or the error, is one document on stdout.

In a terminal long lines are wrapped at its width, tables are cut to it, and a little is coloured: `error:` and `hint:`,
in a plan what was chosen and what was rejected. What a model returns stays as it is, so do a command to copy and a
single word that is longer than the line, such as an address. `NO_COLOR` with any value, or `TERM=dumb`, turns colours
off; `COLUMNS` sets the width. In a pipe or a file nothing is wrapped, cut or coloured.""",
    ]
    for path in paths():
        told = CliRunner().invoke(inferry, [*path, "--help"], prog_name="inferry", terminal_width=80)
        pages += [f"## {' '.join(('inferry', *path))}", f"```text\n{told.stdout.rstrip()}\n```"]
    return "\n\n".join(pages) + "\n"


def paths(group: click.Group = inferry, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return how each command is called, groups before what is in them."""
    context = click.Context(group)
    found = [path]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found += paths(command, (*path, name)) if isinstance(command, click.Group) else [(*path, name)]
    return found


def lineage(error: type[errors.Error]) -> list[type[errors.Error]]:
    """Return the classes of ours from the base to ``error``."""
    return [each for each in reversed(error.__mro__) if issubclass(each, errors.Error)]


def error_classes() -> list[type[errors.Error]]:
    """Return all classes, each below the one it derives from, families by their exit codes."""
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.Error)]
    return sorted(found, key=lambda each: [(one.exit_code, one.__name__) for one in lineage(each)])


def error_page() -> str:
    rows = [
        f"| {each.exit_code} | {'&nbsp;&nbsp;' * (len(lineage(each)) - 1)}`{each.__name__}` "
        f"| {(each.__doc__ or '').splitlines()[0]} |"
        for each in error_classes()
    ]
    head = """# Errors

Every error is an `inferry.Error`: `message` says what is wrong, `hints()` what to do. On the command line it ends the
program with its exit code; with `--json` it is the document `{"schema_version": 1, "error": {"type", "message",
"hints"}}`. Beside those of the table, 0 is done, 130 interrupted (Ctrl-C), and 1 a bug of ours.

| exit code | error | |
| --- | --- | --- |
"""
    return (head + "\n".join(rows) + "\n").replace("``", "`")


class Described(NamedTuple):
    name: str
    said: str
    rows: list[tuple[str, str, str, str]]
    """Of each field: its name, type and default, and what the string below it says."""


def _classes(module: ModuleType) -> list[Described]:
    found: list[Described] = []
    for each in ast.parse(inspect.getsource(module)).body:
        if not isinstance(each, ast.ClassDef):
            continue
        rows: list[tuple[str, str, str, str]] = []
        for place, line in enumerate(each.body):
            if isinstance(line, ast.AnnAssign):
                after = each.body[place + 1] if place + 1 < len(each.body) else None
                said = ""
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    said = " ".join(inspect.cleandoc(str(after.value.value)).split())
                default = ast.unparse(line.value) if line.value else "required"
                rows.append((ast.unparse(line.target), ast.unparse(line.annotation), default, said))
        said = " ".join((ast.get_docstring(each) or "").split())
        found.append(Described(each.name, said, rows))
    return found


LEFT_OUT = """
## What may be left out

`inferry check` and `inferry index add` complete a manifest from its files, and hold against them what it says; where
the two differ, the error names the field and both values. So these six lines are one:

```toml
name = "acme/add"
version = "1.0.0"
license = "MIT"
summary = "Adds"
task = "arithmetic"
variants = [{ artifact = { path = "add.onnx", redistribution = "allowed" } }]
```

| field | where it is left out |
| --- | --- |
| `digest`, `size_bytes`, `media_type` of an artifact | those of its file |
| `variants` | the folder's ONNX files by precision; `redistribution` is `unknown`, or with `--license` `allowed` |
| `name` of a variant | its precision; where two have the same, the file's name without `.onnx` |
| `precision` | by its weights, see below |
| `graph` | read from the file; this takes no `onnx` |
| `external_data` | the files that the ONNX file names, with its `redistribution`; they must lie beside it |
| `inputs`, `outputs`; `dtype` and `shape` of one | the file's; a nameless axis is called `x_0` after its tensor |
| `task` | `other` |
| `summary` | name and task |

A stated shape may be narrower than the file's: a length where the file has a free axis. A stated precision is wrong
only where the weights say another, and neither is `mixed`. All that a file tells beside its graph is read with
`onnx`: `pip install "inferry[publish]"`; a manifest that leaves nothing of it out needs none.

Without a manifest a folder is a release whose variants are its ONNX files, which must take and return the same;
`CARD.md` or `README.md` is its card, `LICENSE*` its licence's text. Name, version and licence then come from
`--name`, `--version` and `--license`, and everything is `redistribution = "allowed"`: whoever names the licence of a
file of their own hands it out. `inferry check --write` writes the whole manifest, never over one that is there.
`run`, `show` and `pull` of a folder take whole manifests only.

The **precision** is that of three quarters of the bytes of weights, else `mixed`; float64 counts as fp32, and what
has no name of its own (float8, int2, 16 bits) as mixed. Weights are tensors of a floating type, or of whole numbers
of 16 bits or fewer, but for scales and zero points. Weights that lie packed in bytes, as those of `MatMulNBits`, are
of the bits that the operator says. Without weights it is that of the first floating input or output, else fp32. The
number of **parameters** is that of the same weights. The estimate of **memory** is the size of all tensors, and the
most that values take at once: nodes one after the other, each free axis of length 1, nothing of subgraphs; it is not
known where a shape is not.
"""


def manifest() -> str:
    head = """# Manifests

A release is a folder with a `manifest.toml` and the files that it names. What is unknown, missing or wrong in it is an
error that names the field, such as `variants[0].artifact.digest`.
"""
    return head + LEFT_OUT + _tables("", [*_classes(model)[::-1], *_classes(location), *_classes(picture)[::-1]])


def documents() -> str:
    head = """# Documents

What an index hands out, for who reads it without this program. Each document names the next by digest and size:
a package document names release documents, these name artifacts, and of a large artifact its piece list. The release
document of a model is a [`Release`](manifest.md#release). Beside them a listing, compressed
with gzip, tells of all models.

The bytes are JSON in UTF-8 without white space; the keys of every object are sorted by their code points, and a field
that has its default is left out. A reader passes over keys that it does not know; but a variant, a build or a location
that requires what it does not understand is left out, as if it did not fit. [The schemas](documents) are JSON Schema,
draft 2020-12.

| document | bytes at most |
| --- | --- |
"""
    head += "".join(f"| `{kind.__name__}` | {limit:,} |\n" for kind, limit in wire.LIMITS.items())
    return _tables(head, [*_classes(document), *_classes(listing), *_classes(link)])


def _tables(text: str, described: list[Described]) -> str:
    for name, said, rows in described:
        text += f"\n## {name}\n\n{said}\n\n| field | type | default | |\n| --- | --- | --- | --- |\n"
        for field, kind, default, words in rows:
            cells = (f"`{field}`", f"`{kind}`", f"`{default}`", words)
            text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    return text.replace("``", "`").replace("`required`", "required")


def schema(kind: str) -> str:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(draft | wire.schemas()[kind], indent=2) + "\n"


def twelve_hosts() -> str:
    pages = [
        "# The choice on twelve hosts",
        """What `inferry plan inferry/digits --explain --host PROFILE` prints for twelve machines that differ. The
profiles are in `tests/cases/resolve`; beside them is what must come out, written from what vendors publish before the
program was asked. [How the choice is made](../concepts/how-the-choice-is-made.md) tells how to read it.""",
    ]
    for name, answer in ANSWERS.items():
        explained = door.plan("inferry/digits", host=profile(name)).explain()
        pages += [f"## {name}", f"{answer.what}.", f"```text\n{explained}\n```", f"{answer.because}."]
    return "\n\n".join(pages) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "documents.md": documents,
    "errors.md": error_page,
    "manifest.md": manifest,
    "twelve-hosts.md": twelve_hosts,
    **{f"documents/{kind.__name__}.json": partial(schema, kind.__name__) for kind in wire.LIMITS},
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (REFERENCE / name).parent.mkdir(exist_ok=True)
        (REFERENCE / name).write_text(page(), encoding="utf-8", newline="\n")
