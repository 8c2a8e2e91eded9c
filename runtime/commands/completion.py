"""``inferry completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...catalog.values.answer import Answer

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

SHELLS = ("bash", "zsh", "fish", "powershell")
PROGRAMS = ("inferry", "catalog")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> Answer:
    """Print a script that completes this program's words in a shell, under both of its names.

    For example: inferry completion bash
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell) or ShellComplete
    root = click.get_current_context().find_root().command
    script = "\n".join(_source(kind(root, {}, program, "_INFERRY_COMPLETE")) for program in PROGRAMS)
    return Answer(lines=tuple(script.splitlines()), document={"shell": shell, "script": script})


def _source(script: ShellComplete) -> str:
    """Return the script alone: click's own way for bash starts one first, to ask for its version."""
    return script.source_template % script.source_vars()
