"""Every snippet of the documentation is run by a test, or there is a reason why not."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from places import PYTESTS, ROOT
from snippets import snippets

#: Languages of code; blocks of others, such as `text`, are what something prints.
CODE = ("python", "sql", "java", "scala", "bash")

#: The test that runs the snippets of a page, and how many of which language; two where each runs some of them,
#: none where others run them and this one looks at what they do.
RUN = {
    "README.md": {"test_readme": "python sql"},
    "docs/before-and-after.md": {"test_dry_runs": "python*4 sql*4", "test_explain": "python sql"},
    "docs/compared.md": {"test_pages": "python*2"},
    "docs/concurrent-writers.md": {"test_pages": "python"},
    "docs/delete-a-person.md": {"test_erasure": "python*6 sql"},
    "docs/follow-a-database.md": {
        "test_apply_changes_page": "python*4 sql",
        "test_real_database": "python sql",
    },
    "docs/index.md": {"test_pages": "python"},
    "docs/installation.md": {"test_pages": "python"},
    "docs/merge-rules.md": {"test_pages": "python*7 sql*4", "test_expression_rules": "", "test_traced_rules": ""},
    "docs/load-a-feed.md": {"test_pages": "python*7 sql"},
    "docs/merge-semantics.md": {"test_tombstones": "python sql"},
    "docs/move-from-hudi.md": {"test_pages": "python*2", "test_porting_page": "java*4"},
    "docs/operating.md": {
        "test_history": "python sql",
        "test_hive_metastore": "python sql",
        "test_repair": "python sql",
        "test_verify": "python sql",
    },
    "docs/python.md": {"test_python_page": "python*6"},
    "docs/reading-changes.md": {
        "test_change_data": "python sql",
        "test_incremental": "python*3",
        "test_stream_sink": "python*4",
    },
    "docs/run-it-for-a-year.md": {
        "test_archiving": "python sql",
        "test_cleaning": "python sql",
        "test_clustering": "python sql*3",
        "test_command_line": "bash",
        "test_pages": "python*2 sql*3",
    },
    "docs/schema-evolution.md": {"test_pages": "sql*2"},
    "docs/sql.md": {"test_pages": "python sql*4", "test_connect": "python"},
    "docs/undo-yesterday.md": {"test_savepoints": "python*4 sql*2"},
    "docs/tutorial.md": {"test_pages": "python*10"},
    "docs/write-a-merger.md": {
        "test_custom_merger_example": "scala java python sql",
        "test_rule_laws": "python*2 sql scala",
        "both_jars": "python",
    },
}

#: Snippets that no test runs as they are, and why.
NOT_RUN = {
    ("docs/command-line.md", "bash"): "each command runs in test_command_line and in the tests of its service, where "
    "instants and paths are those of a table; here its words are parsed, since some run until they are ended",
    ("docs/installation.md", "bash"): "`./dev test --all` and `./dev newcomer` build and install the wheel",
    (
        "docs/tutorial.md",
        "bash",
    ): "`./dev test --all` and `./dev newcomer` run its commands with the wheel alone, after they have installed it",
}

PAGES = sorted(str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


# Guarantee (Installing): The code in the README and on the documentation's pages runs, and the calls that they name
#   exist. Also: test_the_python_pages_snippets_print_what_the_page_shows, test_every_call_named_on_the_pages_exists,
#   test_pages, test_both_forms_of_a_class_on_the_page_compile_and_have_the_lines_of_the_table,
#   test_both_forms_of_the_lines_of_a_merger_for_hudi_1_0_compile,
#   test_the_sql_of_the_readme_runs_when_it_is_pasted_into_the_prompt, test_the_pages_client_program_upserts_two_rows,
#   test_the_pages_beeline_command_creates_a_table_and_shows_its_commit
@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_of_a_page_is_run_or_has_a_reason(page: str) -> None:
    fences = re.findall(r"^```.*$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert fences[1::2] == ["```"] * (len(fences) // 2)
    assert "```" not in fences[::2], "a block without a language"
    shown = {language: len(snippets(page, language)) for language in CODE}
    run: Counter[str] = Counter()
    for text in RUN.get(page, {}).values():
        for part in text.split():
            language, _, number = part.partition("*")
            run[language] += int(number or 1)
    left = {language: number - run[language] for language, number in shown.items() if number != run[language]}
    assert left == {language: shown[language] for of, language in NOT_RUN if of == page}


def test_tests_listed_for_a_page_mention_that_page() -> None:
    files = {file.stem: file for file in [*PYTESTS.values(), *(ROOT / "tests" / "interop").glob("*.py")]}
    for page, tests in RUN.items():
        for test in tests:
            text = files[test].read_text(encoding="utf-8")
            named = "pasted" if page == "README.md" else page.rpartition("/")[2].removesuffix(".md")
            assert named in text, f"{test} does not run {page}"
