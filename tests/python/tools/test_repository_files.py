"""Files for those who host and contribute: forms, hooks and updates are well-formed and name what is there."""

from __future__ import annotations

import re

import pytest
import yaml
from places import ROOT


def test_pre_commit_hooks_run_dev_commands_and_fetch_nothing() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    assert [(hook["entry"], hook["language"]) for hook in repository["hooks"]] == [
        ("./dev fmt", "system"),
        ("./dev lint", "system"),
    ]


def test_dependabot_checks_every_requirements_folder_and_ignores_spark() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    folders = {update["package-ecosystem"]: update.get("directories", [update.get("directory")]) for update in updates}
    assert folders == {"pip": ["/python", "/docs"], "sbt": ["/"]}
    assert all(list((ROOT / folder[1:]).glob("[pr]*.t*")) for folder in folders["pip"])
    ignored = {each["dependency-name"] for update in updates for each in update["ignore"]}
    assert {"pyspark", "org.apache.spark:*", "org.scala-lang:*"} <= ignored


@pytest.mark.parametrize("form", ["bug", "feature"])
def test_the_fields_of_an_issue_form_have_unique_ids(form: str) -> None:
    fields = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml").read_text())["body"]
    ids = [field["id"] for field in fields if field["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 2
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_security_policy_links_to_an_existing_section() -> None:
    ((page, heading),) = re.findall(r"\]\((docs/\S+\.md)#(\S+)\)", (ROOT / "SECURITY.md").read_text())
    assert f"\n## {heading.title()}\n" in (ROOT / page).read_text()
