"""The command line, as the scripts ``inferry`` and ``catalog`` and as ``python -m inferry``."""

import click

from .catalog.version import VERSION


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="inferry", message="%(prog)s %(version)s")
@click.pass_context
def inferry(context: click.Context) -> None:
    """Find models, pick the variant and execution provider that fit this machine, and run them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command line on the process's own arguments and exit with its code."""
    inferry(prog_name="inferry")
