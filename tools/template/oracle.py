"""Chat templates as transformers runs them: jinja2 with its settings. The oracle of our tests."""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

CLOCK = 1785578645  # 2026-08-01 10:04:05 UTC: the time in every test


class GenerationTag(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_plain")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _plain(self, caller):
        return caller()


class TemplateDict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


class TemplateNamespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attrs = dict(*args, **kwargs)
        for name in attrs:
            TemplateNamespace._check(name)
        jinja2.utils.Namespace.__init__(self, attrs)

    def __setitem__(self, name, value):
        TemplateNamespace._check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def strftime_now(format):
    return datetime.datetime.fromtimestamp(CLOCK, datetime.timezone.utc).strftime(format)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[GenerationTag, jinja2.ext.loopcontrols],
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    env.globals["dict"] = TemplateDict()
    env.globals["namespace"] = TemplateNamespace
    return env


ENV = environment()
_parsed = {}


def render(template, context):
    """("text", what it renders) or ("error", why it does not)."""
    try:
        if template not in _parsed:
            _parsed[template] = ENV.from_string(template)
        text = _parsed[template].render(**context)
        text.encode("utf-8")
        return "text", text
    except Exception as e:  # whatever a template raises is its error
        return "error", f"{type(e).__name__}: {e}"
