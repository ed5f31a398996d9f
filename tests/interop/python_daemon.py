"""PySpark's daemon of Python workers, with folders alone on its path.

Before each task a worker makes Python forget what its path contains, upon which Python 3.10 to 3.12 read the
directories of all archives there again. One of them is Spark's own jar: 0.1 s for each task of a frame of Python rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

#: Settings of a session whose workers are started by this daemon.
SETTINGS = {
    "spark.python.daemon.module": "interop.python_daemon",
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    # The default of 15 seconds is too short for Python on a machine with many processes.
    "spark.python.authenticate.socketTimeout": "300s",
}

if __name__ == "__main__":
    sys.path[:] = [place for place in sys.path if not Path(place).is_file()]
    sys.path_importer_cache.clear()

    from pyspark.daemon import manager

    manager()
