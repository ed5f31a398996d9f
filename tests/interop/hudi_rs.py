"""Reading a table with hudi-rs, the Rust reader behind PyPI's ``hudi``."""

from __future__ import annotations

import os
from pathlib import Path

from interop.hudi_engine import HudiMissingError, Rows
from interop.values import encode_arrow


def read(path: str | os.PathLike[str], **options: str) -> Rows:
    """A snapshot read with meta columns; column types are Arrow's.

    ``options`` are hudi-rs settings, such as ``hoodie.read.use.read_optimized.mode``.

    Raises:
        HudiMissingError: The package is not installed.
    """
    try:
        import pyarrow as pa
        from hudi import HudiReadOptions, HudiTableBuilder
    except ImportError as error:
        raise HudiMissingError("The package 'hudi' is not installed: pip install hudi==0.5.0") from error
    builder = HudiTableBuilder.from_base_uri(str(Path(path).resolve()))
    table = builder.with_hudi_options(options).build() if options else builder.build()
    batches = table.read(HudiReadOptions())
    read_rows = pa.Table.from_batches(batches) if batches else pa.table({})
    columns = [(field.name, str(field.type)) for field in read_rows.schema]
    arrays = [column.to_pylist() for column in read_rows.columns]
    rows = [[encode_arrow(cell) for cell in row] for row in zip(*arrays)]
    return Rows(columns, rows)
