#!/usr/bin/env python3
"""Writes tests/template/features.json: what jinja2 with transformers' settings makes of each case.

Every case has a feature (a row of docs/templates.md), a template and variables. Run again after a
change here; the C++ test (src/text/template/template_test.cc) needs no Python.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import features  # noqa: E402
import oracle  # noqa: E402


def main():
    rows = []
    for feature, template, context in features.cases():
        kind, value = oracle.render(template, context)
        row = {"feature": feature, "template": template, "context": context}
        row[kind] = value
        rows.append(json.dumps(row, ensure_ascii=True))
    out = pathlib.Path(__file__).parents[2] / "tests/template/features.json"
    out.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    errors = sum('"error": ' in r for r in rows)
    print(f"{len(rows)} cases, {errors} of them errors")


if __name__ == "__main__":
    main()
