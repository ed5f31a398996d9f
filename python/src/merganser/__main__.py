"""``python -m merganser``: the command line."""

from __future__ import annotations

import sys

from merganser.cli import main

if __name__ == "__main__":
    sys.exit(main())
