"""The command line, of ``inferry``, ``catalog`` and ``python -m inferry``: the one output and the one error border."""

from __future__ import annotations

import copy
import errno
import gc
import os
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import click

from .catalog.errors import Error, MachineError, StaleSource, UsageError
from .catalog.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from click.shell_completion import CompletionItem

    from .catalog.values.answer import Answer, Told
    from .catalog.values.progress import Progress

SECTIONS: Final = {
    "Find and run": {
        "search": ("runtime.commands.search", "Find models."),
        "show": ("runtime.commands.show", "Show what a model takes and returns, and its variants."),
        "pull": ("runtime.commands.pull", "Fetch models, so that they run from this machine."),
        "run": ("runtime.commands.run", "Run a model once."),
    },
    "On this machine": {
        "plan": ("runtime.commands.plan", "Show what would be run on this machine, and why."),
        "devices": ("runtime.commands.devices", "Show this machine and the devices that models could run on."),
        "providers": ("runtime.commands.providers", "Show what brings execution providers to this machine."),
        "cache": ("runtime.commands.cache", "Show, verify and clean up what was pulled."),
        "doctor": ("runtime.commands.doctor", "Say what is wrong on this machine, and why the CPU."),
    },
    "Publish": {
        "check": ("index.commands.check", "Show what a file or folder would be as a release."),
        "index": ("index.commands.index", "Make a signed index, and add models to it."),
    },
    "Settings": {
        "source": ("index.commands.source", "Say in which indexes names are looked up."),
        "config": ("runtime.commands.config", "Show and change settings."),
        "completion": ("runtime.commands.completion", "Print a script that completes words in a shell."),
    },
}
"""The commands as the help groups them: of each the module that is imported when it is called, and its line."""
COMMANDS: Final = {name: told for section in SECTIONS.values() for name, told in section.items()}
SCHEMA_VERSION: Final = 1
INTERRUPTED: Final = 130
_DOES: Final = {"fetch": "fetching", "verify": "verifying"}
USAGE: Final = 2
BUG: Final = 1
_version = click.version_option(VERSION, prog_name="inferry", message="%(prog)s %(version)s")


def _note(context: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    context.meta[str(option.name)] = value


_flag = partial(click.option, is_flag=True, expose_value=False, callback=_note)
_common = (
    _flag("--json", help="Answer with one JSON document."),
    _flag("-v", "--verbose", help="Tell more; show tracebacks."),
    _version,
)


def _with_common(command: click.Command) -> click.Command:
    """Return a command with the options that all have; of a group, its commands with them."""
    made = copy.copy(command)
    made.params = [*command.params]
    if isinstance(made, click.Group):
        made.commands = {name: _with_common(each) for name, each in made.commands.items()}
        return _version(made)
    taken = {flag for each in made.params for flag in each.opts}
    for option in _common if "--version" not in taken else _common[:-1]:  # a release has one, too
        option(made)
    return made


class Commands(click.Group):
    """A group that imports a command when it is called, and turns errors into words and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command, and return it with the options that all of them have."""
        if cmd_name not in COMMANDS:
            return None
        module, line = COMMANDS[cmd_name]
        command = _with_common(getattr(import_module(f".{module}", __package__), cmd_name))
        command.short_help = line
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Name the commands without importing them."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        longest = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), line) for name, (_, line) in section.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember how to answer, in case the arguments are wrong: then no option is read any more."""
        ctx.meta["json"] = "--json" in args
        ctx.meta["progress"] = None if ctx.meta["json"] else Teller()
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _misused(ctx, error)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Know the commands that are near to one that there is not: click knows only those that were imported."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command that was asked for."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("always", category=StaleSource)
                warnings.showwarning = cast("Any", _warn)
                return super().invoke(ctx)
        except Error as error:
            _fail(ctx, type(error).__name__, error.message, error.hints(), error.exit_code)
        except click.UsageError as error:
            _misused(ctx, error)
        except KeyboardInterrupt:
            _fail(ctx, "Interrupted", "interrupted", (), INTERRUPTED)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _fail(ctx, MachineError.__name__, str(error), (), MachineError.exit_code)
        except Exception as error:  # noqa: BLE001 - what nobody foresaw is told as that
            hints = ("run it again with -v for the traceback, and report it",)
            _fail(ctx, "Bug", f"{type(error).__name__}: {error}; this is a bug of inferry", hints, BUG)


class Teller:
    """Tells on stderr what is fetched or verified; where that takes over a second and somebody looks, how far it is."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self._item = ""
        self._begun = self._drawn = 0.0
        self._from = 0

    def __call__(self, event: Progress) -> None:
        """Tell of one event."""
        from .runtime.describe import size

        now = time.monotonic()
        if event.item != self._item:
            self._item, self._begun, self._drawn, self._from = event.item, now, now, event.done_bytes
            click.echo(f"{_DOES[event.stage]} {event.item}: {size(event.total_bytes)}", err=True)
        over = event.done_bytes == event.total_bytes and self._drawn > self._begun
        if sys.stderr.isatty() and (now - self._drawn >= 1 or over):
            self._drawn = now
            rate = (event.done_bytes - self._from) / (now - self._begun)
            left = f", {(event.total_bytes - event.done_bytes) / rate:.0f} s left" if rate and not over else ""
            share = event.done_bytes / (event.total_bytes or 1)
            line = f"{share:4.0%} of {size(event.total_bytes)}, {size(int(rate))}/s{left}"
            click.echo(f"\r{line:<60}", err=True, nl=over)


def _warn(message: Warning | str, *_: object) -> None:
    """Tell a warning in place of Python."""
    _tell((f"warning: {message}",), "failure", err=True)


def _fail(context: click.Context, kind: str, message: str, hints: Iterable[str], code: int) -> NoReturn:
    """Tell the error that is being handled, and end with its exit code."""
    if context.meta.get("verbose"):
        import traceback

        click.echo(traceback.format_exc(), err=True, nl=False)
    if context.meta["json"]:
        _print_json({"error": {"type": kind, "message": message, "hints": list(hints)}})
    else:
        first = message if code == INTERRUPTED else f"error: {message}"
        _tell((first, *(f"hint: {hint}" for hint in hints)), "failure", err=True)
    context.exit(code)


def _misused(context: click.Context, error: click.UsageError) -> NoReturn:
    """Tell in our way what click says of wrong arguments."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # it says what could follow
        raise error
    near: list[str] | None = getattr(error, "possibilities", None)
    words = error.message if near else error.format_message()
    hints = [f"did you mean {' or '.join(near)}?"] if near else []
    # Where a value is missing click does not say of which command.
    path = (
        error.ctx.command_path if error.ctx else f"{context.command_path} {context.invoked_subcommand or ''}".rstrip()
    )
    hints.append(f"try {path} --help")
    context.meta["verbose"] = False  # a traceback through click tells nobody what was mistyped
    _fail(context, UsageError.__name__, words[:1].lower() + words[1:].removesuffix("."), hints, USAGE)


def _tell(lines: Iterable[str], told: Told, *, err: bool = False) -> None:
    """Print lines; where somebody looks, as that terminal takes them."""
    stream = sys.stderr if err else sys.stdout
    if stream and stream.isatty():
        from .runtime.terminal import Face

        lines = Face.of(stream).lines(lines, told)
    for line in lines:
        click.echo(line, err=err)


def _print_json(document: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps({"schema_version": SCHEMA_VERSION, **document}, allow_nan=False))


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@_version
@click.pass_context
def inferry(context: click.Context) -> None:
    """Find models, pick the variant and execution provider that fit this machine, and run them.

    \b
    inferry run inferry/digits                           on the model's own sample
    inferry run inferry/digits --input image=seven.png   on a picture of yours
    inferry show inferry/digits                          its inputs and outputs
    inferry search digit                                 models by words
    inferry run ./model.onnx --input x=random --json     any ONNX file, as JSON
    """  # noqa: D301 - click's mark for lines that stay as they are
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@inferry.result_callback()
@click.pass_context
def show(context: click.Context, answer: Answer | None) -> None:
    """Print what a command returned: data to stdout, words about it to stderr."""
    if answer is None:
        return
    if context.meta["json"]:
        _print_json(answer.document)
    else:
        _tell(answer.lines, answer.told)
        _tell((*answer.notes, *(answer.details if context.meta["verbose"] else ())), "words", err=True)
    if answer.code:
        context.exit(answer.code)


def main() -> NoReturn:
    """Run the command line on the process's own arguments and exit with its code."""
    if not sys.warnoptions:
        # What Pillow or numpy warn of is for those who write programs; what matters here is an error or a note.
        warnings.simplefilter("ignore")
    # What is imported stays until the end: looking for garbage in it is a tenth of a short command's time.
    gc.set_threshold(100_000, 50, 100)
    code: str | int | None = None
    try:
        inferry(prog_name="inferry")
    except SystemExit as ended:
        code = ended.code
    if sys.gettrace() or sys.getprofile():  # whoever follows the program has something to say at its end
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a pipe that nobody reads; an app without a console
            stream.flush()
    # Taking apart what was imported, module by module, would be another tenth, and a last chance to crash.
    os._exit(code if isinstance(code, int) else int(code is not None))
