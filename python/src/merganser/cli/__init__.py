"""The command line, ``merganser`` or ``python -m merganser``: one module for each group of commands.

Exit codes: 0, also if there was nothing to do; 1 after an error, which is on stderr, and if ``verify`` found a problem;
2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from merganser.cli import inspection, services
from merganser.cli._run import run

#: Modules with a function ``add_commands``.
GROUPS = (services, inspection)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. Each sets ``command``, a function of the session and the arguments."""
    top = argparse.ArgumentParser(
        prog="merganser", description="Commands for Merganser's tables.", epilog="merganser COMMAND --help has more."
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        group.add_commands(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: ``None`` takes those of the process.

    Raises:
        SystemExit: The arguments are wrong, with code 2, or ``--help`` was requested, with code 0.
    """
    return run(parser().parse_args(arguments), sys.stdout, sys.stderr)
