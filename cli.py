"""The command line, of ``inferry``, ``catalog`` and ``python -m inferry``: the one output and the one error border."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from .catalog.errors import Error
from .catalog.version import VERSION

if TYPE_CHECKING:
    from .catalog.values.answer import Answer

COMMANDS: Final = {
    "show": ("runtime.commands.show", "Show what a model takes and returns, and its variants."),
    "run": ("runtime.commands.run", "Run a model once."),
}
"""Each command: the module that is imported when it is called, and its line in the help."""
INTERRUPTED: Final = 130


class Commands(click.Group):
    """A group that imports a command when it is called, and turns errors into words and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, line = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f".{module}", __package__), cmd_name)
        command.short_help = line
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except Error as error:
            click.echo(f"error: {error.message}", err=True)
            for hint in error.hints():
                click.echo(f"hint: {hint}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="inferry", message="%(prog)s %(version)s")
@click.pass_context
def inferry(context: click.Context) -> None:
    """Find models, pick the variant and execution provider that fit this machine, and run them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@inferry.result_callback()
def show(answer: Answer | None) -> None:
    """Print what a command returned: data to stdout, words about it to stderr."""
    if answer is not None:
        for line in answer.lines:
            click.echo(line)
        for note in answer.notes:
            click.echo(note, err=True)


def main() -> None:
    """Run the command line on the process's own arguments and exit with its code."""
    inferry(prog_name="inferry")
