#!/usr/bin/env python3
"""Argument types of tool calls against JSON Schema, with the jsonschema package as the judge.

  tools/check_arguments.py TOOL [--count N] [--seed S]

TOOL is the parse_tool that the build makes. For each of N random schemas and arguments that are valid by it: the call as a
chat template of the dialect writes it (strings bare, other values by json.dumps), cut into random pieces, must come back
as arguments that are valid; and equal to those that were written, where the schema leaves no choice. Exit status 77:
jsonschema is missing.
"""
import argparse
import json
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError as e:
    print(f"skipped: {e}; tools/fetch_test_data fetches what is missing")
    sys.exit(77)

STRINGS = ["", "x", "null", "None", "true", "True", "5", "-1.5", "1e3", "{", '{"k": 1}', "[1]", "a\nb", " a ", "<b>&amp;</b>",
           "if a<b: p(\"&\")", "2026-01-15", "\u65e5\u672c", "\U0001f600", "\"q\"", "\\n", "a\tb", "</parameter", "<arg_key>",
           "\u0000", "\u2028", "C:\\x", "'", "0x1F", "+5", "1.", "nan"]
INTEGERS = [0, 1, -1, 42, 2**31, -2**63, 2**63, 10**30, 7]
NUMBERS = [*INTEGERS, 0.5, -1.25, 1e300, 1e-7, 3.0, 1.1]


class Random:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def value(self, depth=0):
        kinds = ["string", "integer", "number", "boolean", "null"] + ["array", "object"] * (depth < 2)
        return self.of(self.r.choice(kinds), depth)

    def of(self, kind, depth=0):
        pick = self.r.choice
        if kind == "string":
            return pick(STRINGS)
        if kind == "integer":
            return pick(INTEGERS)
        if kind == "number":
            return pick(NUMBERS)
        if kind == "boolean":
            return pick([True, False])
        if kind == "null":
            return None
        if kind == "array":
            return [self.value(depth + 1) for _ in range(self.r.randint(0, 3))]
        return {pick("abc") + pick(["", "\u00e9", " k"]): self.value(depth + 1) for _ in range(self.r.randint(0, 3))}

    def listed(self, kind=None):
        """A value for enum or const: a schema of ours has integers of 64 bits."""
        while True:
            value = self.of(kind) if kind else self.value()
            if not any(digits in json.dumps(value) for digits in (str(2**63), str(10**30))) or value == -2**63:
                return value

    def plain(self):
        """A schema of one type, and a value."""
        kind = self.r.choice(["string", "integer", "number", "boolean", "null", "array", "object"])
        return {"type": kind}, self.of(kind)

    def schema(self, definitions, depth=0):
        """A schema and a value that is valid by it."""
        form = self.r.choice(["plain"] * 4 + ["list", "anyOf", "oneOf", "allOf", "enum", "const", "typed enum", "ref", "nullable",
                                              "none", "true"])
        if depth > 1:
            form = "plain"
        if form == "list":
            kinds = self.r.sample(["string", "integer", "number", "boolean", "null", "array", "object"], self.r.randint(1, 3))
            return {"type": kinds}, self.of(self.r.choice(kinds))
        if form == "oneOf":  # of different types: a value must fit exactly one
            kinds = self.r.sample(["string", "integer", "boolean", "null", "array", "object"], self.r.randint(1, 3))
            return {"oneOf": [{"type": k} for k in kinds]}, self.of(self.r.choice(kinds))
        if form == "anyOf":
            made = [self.schema(definitions, depth + 1) for _ in range(self.r.randint(1, 3))]
            return {form: [s for s, _ in made]}, self.r.choice(made)[1]
        if form == "allOf":
            schema, value = self.schema(definitions, depth + 1)
            return {"allOf": [schema]}, value
        if form == "enum":
            values = [self.listed() for _ in range(self.r.randint(1, 4))]
            return {"enum": values}, self.r.choice(values)
        if form == "const":
            value = self.listed()
            return {"const": value}, value
        if form == "typed enum":
            kind = self.r.choice(["string", "integer", "number", "boolean"])
            values = [self.listed(kind) for _ in range(self.r.randint(1, 4))]
            return {"type": kind, "enum": values}, self.r.choice(values)
        if form == "ref":
            schema, value = self.schema(definitions, depth + 1)
            name = f"D{len(definitions)}"
            definitions[name] = schema
            return {"$ref": f"#/$defs/{name}", "description": "x"}, value
        if form == "nullable":
            schema, value = self.plain()
            return {"anyOf": [schema, {"type": "null"}], "default": None}, self.r.choice([value, None])
        if form == "none":
            return {"description": "anything"}, self.value()
        if form == "true":
            return True, self.value()
        return self.plain()

    def pieces(self, text):
        out = []
        while text:
            n = self.r.choice([1, 2, 3, 7, len(text)])
            out.append(text[:n])
            text = text[n:]
        return out


def written(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def qwen3_coder(arguments):
    inner = "".join(f"<parameter={k}>\n{written(v)}\n</parameter>\n" for k, v in arguments.items())
    return f"<tool_call>\n<function=f>\n{inner}</function>\n</tool_call>"


def glm(arguments):
    return "<tool_call>f\n" + "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{written(v)}</arg_value>\n"
                                      for k, v in arguments.items()) + "</tool_call>"


def hermes(arguments):
    return '<tool_call>\n{"name": "f", "arguments": ' + json.dumps(arguments, ensure_ascii=False) + "}\n</tool_call>"


DIALECTS = {"qwen3_coder": qwen3_coder, "glm": glm, "hermes": hermes}


def same(a, b):
    """Equal as JSON: true is not 1, and 1.0 is 1."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True) or (
        type(a) in (int, float) and type(b) in (int, float) and a == b)


def readings(text):
    """What `text` may stand for: itself, and what it is as JSON or in Python's words."""
    out = [text]
    word = {"None": "null", "True": "true", "False": "false"}.get(text.strip(), text)
    for t in (text, word):
        try:
            out.append(json.loads(t, parse_constant=lambda _: 1 / 0))
        except (ValueError, ZeroDivisionError):
            pass
    return out


def verdict(parameters, arguments, call):
    """Why `call` is wrong; None if it is right."""
    if call.get("calls") is None or len(call["calls"]) != 1 or call["content"].strip() or call["calls"][0]["name"] != "f":
        return "expected one call of f and no content"
    try:
        found = json.loads(call["calls"][0]["arguments"])
    except ValueError as e:
        return f"the arguments are no JSON: {e}"
    if list(found) != list(arguments):
        return "expected the same keys"
    for error in jsonschema.Draft202012Validator(parameters).iter_errors(found):
        return f"jsonschema: {error.message}"
    for key, value in arguments.items():
        one = {"properties": {key: parameters["properties"][key]}, "$defs": parameters.get("$defs", {})}
        valid = [r for r in readings(written(value)) if jsonschema.Draft202012Validator(one).is_valid({key: r})]
        choice = any(not same(r, value) for r in valid)
        if not choice and not same(found[key], value):
            return f"{key}: expected {value!r}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = Random(args.seed)
    cases, lines = [], []
    while len(cases) < args.count:
        definitions, properties, arguments = {}, {}, {}
        for i in range(rng.r.randint(0, 4)):
            properties[f"p{i}"], arguments[f"p{i}"] = rng.schema(definitions)
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        if definitions:
            parameters["$defs"] = definitions
        if not jsonschema.Draft202012Validator(parameters).is_valid(arguments):
            continue  # oneOf: the value fits two
        dialect = rng.r.choice(list(DIALECTS))
        pieces = rng.pieces(DIALECTS[dialect](arguments))
        cases.append((dialect, parameters, arguments))
        lines.append(json.dumps({"dialect": dialect, "pieces": pieces, "tools": [
            {"type": "function", "function": {"name": "f", "parameters": parameters}}]}))
    done = subprocess.run([args.tool], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    wrong = 0
    for (dialect, parameters, arguments), line in zip(cases, done.stdout.rstrip("\n").split("\n"), strict=True):
        why = verdict(parameters, arguments, json.loads(line))
        if why:
            wrong += 1
            if wrong <= 5:
                print(f"{dialect}: {why}\n  schema    {json.dumps(parameters)}\n  arguments {arguments!r}\n  ours      {line}")
    print(f"{len(cases)} calls, {sum(len(a) for _, _, a in cases)} arguments: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
