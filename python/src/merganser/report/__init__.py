"""A page about a table: commits over time, late rows, file slices by size, and what to do next."""

from __future__ import annotations

from merganser.report.table import report_of

__all__ = ["report_of"]
