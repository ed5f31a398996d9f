"""An S3 server on loopback, moto's, in a process of its own, and what a session needs to reach it by ``s3a``.

The server answers one request after the other, so that its conditional writes are exact, as those of S3 are. It
records the requests, and a test can let some of them fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from dev.maven import fetch_all, listed

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "merganser"
CONTROL = "/-test-"
KEY = "test"


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    url: str

    @property
    def client(self) -> Any:
        """A client of AWS's own library."""
        import boto3

        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": KEY}
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", **keys)

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs for paths of ``s3a:``."""
        s3a = {
            "endpoint": self.url,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": KEY,
            "secret.key": KEY,
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "fast.upload.buffer": "bytebuffer",
            "retry.interval": "50ms",
        }
        settings = {f"spark.hadoop.fs.s3a.{key}": value for key, value in s3a.items()}
        return {**settings, "spark.driver.extraClassPath": os.pathsep.join(map(str, s3a_jars()))}

    def objects(self, bucket: str, prefix: str = "") -> set[str]:
        """Keys of objects."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return {found["Key"] for page in pages for found in page.get("Contents", [])}

    def fail(self, method: str, path: str, when: str) -> None:
        """Let the next request with this method and a pattern in its path fail, ``before`` or ``after`` its work."""
        self._control({"method": method, "path": path, "when": when})

    def pending(self) -> bool:
        """Whether a failure was ordered that no request has met."""
        return bool(self._control({"pending": True}))

    def requests(self) -> list[dict[str, str]]:
        """The requests since the last call: method, path, status, if-match, if-none-match."""
        found: list[dict[str, str]] = self._control({})
        return found

    def _control(self, order: dict[str, Any]) -> Any:
        with urlopen(Request(self.url + CONTROL, json.dumps(order).encode(), method="POST"), timeout=30) as answer:
            return json.load(answer)


def s3a_jars() -> list[Path]:
    """Hadoop 3.4.2 with its S3A, and what S3A uses of AWS's library; to come before Spark's own Hadoop."""
    return fetch_all(CACHE, listed(Path(__file__).parent / "s3a_jars.txt"))


@contextmanager
def s3_server(*buckets: str) -> Iterator[S3Server]:
    """Run a server with these buckets until the block ends."""
    command = [sys.executable, __file__, *buckets]
    paths = os.pathsep.join(path for path in sys.path if path)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})
    try:
        assert server.stdout is not None
        yield S3Server(f"http://127.0.0.1:{int(server.stdout.readline())}")
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()


# --- in the server's process -----------------------------------------------------------------------------------------


@dataclass
class Steered:
    """The server as a WSGI application, with its failures and its records."""

    application: Callable[..., Iterable[bytes]]
    failures: list[dict[str, Any]] = field(default_factory=list)
    seen: list[dict[str, str]] = field(default_factory=list)
    one: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with self.one:
            if environ["PATH_INFO"] == CONTROL:
                return self._controlled(environ, start_response)
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            failure = next((f for f in self.failures if f["method"] == method and re.search(f["path"], path)), None)
            if failure:
                self.failures.remove(failure)
            status = ["503 Slow Down", []]

            def answered(line: str, headers: list[Any], *more: Any) -> None:
                status[:] = [line, headers]

            if not failure or failure["when"] == "after":
                body = list(self.application(environ, answered))
            record = {"method": method, "path": path, "status": str(status[0])}
            for name in ("if-match", "if-none-match"):
                record[name] = environ.get("HTTP_" + name.upper().replace("-", "_"), "")
            self.seen.append(record)
            if failure:
                start_response("503 Slow Down", [("Content-Length", "0")])
                return []
            start_response(*status)
            return body

    def _controlled(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        order = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        answer = json.dumps(self.failures if "pending" in order else self.seen).encode()
        if "method" in order:
            self.failures.append(order)
        elif not order:
            self.seen.clear()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
        return [answer]


def main(*buckets: str) -> None:
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = Steered(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    started = S3Server(f"http://127.0.0.1:{server.server_port}")
    for bucket in buckets:
        started.client.create_bucket(Bucket=bucket)
    print(server.server_port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
