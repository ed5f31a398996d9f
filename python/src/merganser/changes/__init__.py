"""Applying change events of other databases to a table: see :meth:`merganser.Table.apply_changes`."""

from __future__ import annotations

from merganser.changes import presets
from merganser.changes.presets import EventColumn, Preset

__all__ = ["EventColumn", "Preset", "presets"]
