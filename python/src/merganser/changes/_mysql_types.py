"""Column types from MySQL's names of them, such as ``decimal(10,2) unsigned``, and those as DDL has them."""

from __future__ import annotations

import re

from pyspark.sql import types as T

_NAME = re.compile(
    r"(?P<name>[a-z ]+?)\s*(?:\((?P<size>\d+)(?:\s*,\s*(?P<scale>\d+))?\))?(?P<unsigned> unsigned)?(?![a-z]).*"
)

_TYPES: dict[str, T.DataType] = {
    "binary": T.BinaryType(),
    "bit": T.LongType(),
    "blob": T.BinaryType(),
    "bool": T.BooleanType(),
    "boolean": T.BooleanType(),
    "bigint": T.LongType(),
    "date": T.DateType(),
    "datetime": T.TimestampNTZType(),
    "double": T.DoubleType(),
    "float": T.FloatType(),
    "int": T.IntegerType(),
    "longblob": T.BinaryType(),
    "mediumblob": T.BinaryType(),
    "integer": T.IntegerType(),
    "mediumint": T.IntegerType(),
    "real": T.DoubleType(),
    "serial": T.DecimalType(20, 0),  # another name of bigint unsigned
    "smallint": T.IntegerType(),
    "timestamp": T.TimestampNTZType(),  # without a zone in these events
    "tinyblob": T.BinaryType(),
    "tinyint": T.IntegerType(),
    "varbinary": T.BinaryType(),
    "year": T.IntegerType(),
}


def mysql_type(name: str) -> T.DataType:
    """The type of a column; a string for those that Spark does not have."""
    found = _NAME.fullmatch(name.lower())
    if found is None:
        return T.StringType()
    if found["name"] in ("decimal", "dec", "fixed", "numeric"):
        return T.DecimalType(min(38, int(found["size"] or 10)), min(38, int(found["scale"] or 0)))
    if found["unsigned"] and found["name"] in ("int", "integer"):
        return T.LongType()
    if found["unsigned"] and found["name"] == "bigint":
        return T.DecimalType(20, 0)
    return _TYPES.get(found["name"].strip(), T.StringType())
