"""The command line, ``merganser`` or ``python -m merganser``: one module for each group of commands.

Exit codes: 0, also if there was nothing to do; 1 after an error, which is on stderr, and if ``verify`` or ``doctor``
found a problem; 2 for wrong arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from merganser._version import __version__
from merganser.cli import inspection, services, setup


class _Commands(click.Group):
    """Commands in the order in which they are listed. ``TABLE COMMAND`` is the same as ``COMMAND TABLE``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the whole first sentence of each: click cuts them to one line."""
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if len(args) > 1 and args[0] not in self.commands and args[1] in self.commands:
            args = [args[1], args[0], *args[2:]]
        return super().resolve_command(ctx, args)


def commands() -> click.Group:
    """All commands."""
    top = _Commands(
        "merganser",
        help="Commands for Merganser's tables: merganser COMMAND TABLE, or merganser TABLE COMMAND.",
        epilog="merganser COMMAND --help has more. "
        "Commands for a table start Spark first, which takes about 5 seconds, unless --remote names a server.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    for command in (*inspection.COMMANDS, *services.COMMANDS, *setup.COMMANDS):
        top.add_command(command)
    return click.version_option(__version__, message="%(prog)s %(version)s")(top)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: ``None`` takes those of the process.
    """
    try:
        code = commands().main(arguments, prog_name="merganser", standalone_mode=False)
    except click.ClickException as error:
        error.show(sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("merganser: aborted", err=True)
        return 130
    return code if isinstance(code, int) else 0
