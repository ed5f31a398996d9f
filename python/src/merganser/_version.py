"""The version of the package and of its jars; `./dev release` sets it."""

__version__ = "0.1.0"
