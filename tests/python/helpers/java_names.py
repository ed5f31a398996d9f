"""Names of Java packages and classes that py4j asks the JVM for once.

PySpark spells out names such as ``jvm.org.apache.spark.sql…`` in every call. For each part the JVM searches all
archives of its class path for a class of that name: a tenth of what the driver does in a small test.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView  # type: ignore[import-untyped, unused-ignore]


def remember_java_names() -> None:
    """Make py4j remember packages, whose names are in lower case, and classes; other names may become classes."""
    for kind in (JVMView, JavaPackage):
        kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(look_up: Any) -> Any:
    def remembered(self: Any, name: str) -> Any:
        found = look_up(self, name)
        if isinstance(found, JavaClass) or (isinstance(found, JavaPackage) and name.islower()):
            self.__dict__[name] = found
        return found

    return remembered
