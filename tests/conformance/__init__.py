"""Recorded stories of tables, and what plays them on our engine and judges the outcome. README.md says how."""
