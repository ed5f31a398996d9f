"""Bills of materials of what is released, in the JSON of CycloneDX: what a file includes and what it depends on.

They name no time, so that those of the same files are the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from pathlib import Path
from typing import Any

from dev.layout import described

Component = dict[str, Any]


def jar_bom(jar: Path, purl: str, spark: str) -> str:
    """The bill of a jar, which includes no other software, and depends on Spark of the given purl alone."""
    return bill(maven_component(purl, hashed(jar.read_bytes())), [maven_component(spark)])


def wheel_bom(wheel: Path, group: str) -> str:
    """The bill of a wheel: the jars in it, and the packages that it requires, as in its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        described_as = message_from_bytes(archive.read(metadata))
        jars = [
            maven_component(maven_purl(group, *Path(name).stem.rsplit("-", 1)), hashed(archive.read(name)))
            for name in sorted(names)
            if name.endswith(".jar")
        ]
    requirements = [each for each in described_as.get_all("Requires-Dist", []) if "extra ==" not in each]
    name, version = described_as["Name"], described_as["Version"]
    return bill(
        ours({**component(f"pkg:pypi/{name}@{version}", name, version), **hashed(wheel.read_bytes())}),
        [*jars, *map(required, sorted(requirements))],
    )


def maven_purl(group: str, artifact: str, version: str) -> str:
    return f"pkg:maven/{group}/{artifact}@{version}"


def maven_component(purl: str, hashes: Component | None = None) -> Component:
    """A jar by its purl; with hashes it is one of ours."""
    group, artifact, version = re.split("[/@]", purl.removeprefix("pkg:maven/"))
    made = {**component(purl, artifact, version), "group": group, **(hashes or {})}
    return ours(made) if hashes else made


def required(requirement: str) -> Component:
    """A Python package of which a range of versions may be installed."""
    name = re.split(r"[^\w.-]", requirement)[0]
    made = component(f"pkg:pypi/{name}", name)
    return {**made, "scope": "required", "properties": [{"name": "merganser:requirement", "value": requirement}]}


def component(purl: str, name: str, version: str | None = None) -> Component:
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        **({"version": version} if version else {}),
        "purl": purl,
    }


def ours(made: Component) -> Component:
    return {
        **made,
        "licenses": [{"license": {"id": described("license")}}],
        "externalReferences": [{"type": "vcs", "url": described("Source")}],
    }


def hashed(content: bytes) -> Component:
    return {"hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]}


def bill(subject: Component, parts: Sequence[Component]) -> str:
    """The document, with a serial number that follows from the rest."""
    content = {
        "version": 1,
        "metadata": {"component": subject},
        "components": list(parts),
        "dependencies": [
            {"ref": subject["bom-ref"], "dependsOn": [each["bom-ref"] for each in parts]},
            *({"ref": each["bom-ref"]} for each in parts),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}"}
    return json.dumps({**head, **content}, indent=2) + "\n"
