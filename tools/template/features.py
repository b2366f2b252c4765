"""Templates of our own for each feature of Jinja: (feature, template, variables)."""

MS = [{"role": "user", "c": 1, "t": "B"}, {"role": "sys", "c": 2, "t": "a"},
      {"role": "user", "c": 3, "t": "b"}]
T = {"name": "f", "description": "a<b & 'c' \u2013 \u65e5 /x",
     "p": {"z": 1, "a": [1, 2.0, True, None], "e": {}}}
TREE = [{"n": "a", "k": [{"n": "b", "k": [{"n": "c", "k": []}]}, {"n": "d", "k": []}]},
        {"n": "e", "k": []}]
S = "The <b>quick</b> brown\tfox\njumps \u00e9\u0301 \u65e5\u672c \U0001f600 over"

# feature -> (variables, templates)
GROUPS = [
    ("printing values", {"s": S, "d": T}, [
        "{{ 1 }}|{{ -2 }}|{{ 1.0 }}|{{ 1e16 }}|{{ 1e15 }}|{{ 0.1 }}|{{ 1e-5 }}|{{ 0.0001 }}|{{ 1e22 }}",
        "{{ true }}{{ True }}{{ false }}{{ none }}{{ None }}", "{{ [1, 'a', 2.5, none, true, (1,), ()] }}",
        "{{ {'a': 1, 2: 'b', none: [], (1, 2): {}} }}", "{{ s }}{{ [s] }}", "{{ d }}",
        "{{ ['it\\'s', '\"', '\\'\"', '\\\\', '\\n\\t\\r', '\\x00\\x7f\\xad'] }}",
        "{{ range(3) }}{{ range(1, 7, 2) }}{{ range(0) | list }}", "{{ d.items() }}{{ d.keys() }}{{ d.values() }}",
        "{{ 1_000 }} {{ 0x1F }} {{ 0o17 }} {{ 0b101 }} {{ 1_0.5e1_0 }}", "{{ 'a' 'b' \"c\" }}",
        "{{ '\\u00e9\\x41\\101\\q' }}", "{{ namespace(a=1) }}", "{{ 1.5e300 * 1e10 }} {{ 2 ** 62 }}"]),
    ("undefined", {"m": {"a": None}, "l": [1]}, [
        "[{{ nope }}][{{ m.nope }}][{{ nope is none }}][{{ m.get('k') is none }}]", "{{ nope.x }}",
        "{{ nope['x'] }}", "{{ nope() }}", "{{ m.nope.x }}", "{{ m.a.x }}", "{{ m.a.x.y }}",
        "{{ nope + 1 }}", "{{ 1 + nope }}", "{{ nope ~ 'a' ~ nope }}", "{{ nope == nope2 }}{{ nope == none }}",
        "{{ nope < 1 }}", "{{ nope | length }}{{ nope | list }}{{ nope | upper }}|{{ nope | default('d') }}",
        "{{ nope | int }}", "{{ nope | tojson }}", "{% for x in nope %}x{% else %}none{% endfor %}",
        "{{ 'x' in nope }}{{ not nope }}", "{{ nope is defined }}{{ nope is undefined }}{{ nope is string }}"
        "{{ nope is iterable }}{{ nope is sequence }}{{ nope is mapping }}", "{{ 'a' if false }}|",
        "{{ ('a' if false).x }}", "{{ l[3] }}|{{ l[3].x }}", "{{ l | first }}{{ [] | first }}|{{ [] | last }}",
        "{{ ([] | first).x }}", "{{ nope | trim }}|{{ nope | replace('a', 'b') }}|{{ nope | join }}",
        "{{ [nope] }}", "{{ nope in [nope] }}", "{{ m[nope] }}|", "{{ -nope }}", "{{ nope % 2 }}",
        "{% set x = nope %}{{ x is defined }}{{ x.y }}", "{{ m.a | default('d') }}{{ m.a | default('d', true) }}"]),
    ("arithmetic", {}, [
        "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 0.0 // -1 }}",
        "{{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }}", "{{ 7 / 2 }} {{ 4 / 2 }}",
        "{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 2 ** -1 }} {{ 2.0 ** 0.5 }} {{ 0 ** 0 }}",
        "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1.0 // 0 }}", "{{ 0 ** -1 }}", "{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }}",
        "{{ true + true }} {{ true * 3 }} {{ -true }} {{ +true }}", "{{ 'a' * 3 }}{{ 3 * 'a' }}{{ [1] * 2 }}{{ 'a' * -1 }}",
        "{{ [1] + [2] }}{{ (1,) + (2,) }}", "{{ [1] + (2,) }}", "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ 'a' - 'b' }}",
        "{{ 0.1 + 0.2 }} {{ 1e308 * 10 }} {{ -1e308 * 10 }}", "{{ 3 | abs }} {{ -3 | abs }} {{ -2.5 | abs }}",
        "{{ 10 ~ 20 }}{{ 1 ~ none ~ true }}", "{{ 1.0 * 3 }} {{ 6 * 1.5 }}", "{{ -5 ** 2 }} {{ not 1 == 2 }}",
        "{{ 9007199254740993 + 0 }} {{ 9007199254740993 * 1.0 }}"]),
    ("comparison", {}, [
        "{{ 1 == 1.0 }} {{ [] == false }} {{ true == 1 }} {{ 'a' == 'a' }} {{ none == false }}",
        "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 }} {{ 1 != 2 }}", "{{ 'a' < 'b' }} {{ 'Z' < 'a' }} {{ '\u00e9' > 'z' }}",
        "{{ [1, 2] < [1, 3] }} {{ [1] < [1, 0] }} {{ (1, 'a') < (1, 'b') }}", "{{ 1 < 'a' }}", "{{ none < 1 }}",
        "{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ [1] == (1,) }}", "{{ 'a' in 'cat' }} {{ 'x' not in 'cat' }} {{ '' in '' }}",
        "{{ 1 in [1.0] }} {{ 'a' in {'a': 1} }} {{ 1 in (2, 3) }}", "{{ 1 in 'a' }}", "{{ 1 in none }}", "{{ 1 in 2 }}",
        "{{ 1 and 0 }} {{ 0 or 'x' }} {{ '' or [] }} {{ 1 and 2 }} {{ not [] }} {{ not not 'a' }}",
        "{{ 1 if [] else 2 if {} else 3 }}", "{{ [] < {} }}", "{{ 2 in range(3) }} {{ 5 in range(3) }}",
        "{{ [1, [2]] == [1, [2]] }} {{ {} == {} }} {{ range(2) == range(2) }} {{ range(2) == [0, 1] }}"]),
    ("access and slicing", {"l": [0, 1, 2, 3, 4], "s": S, "d": {"items": 1, "k": 2, "get": 3, "1": 4}}, [
        "{{ l[0] }}{{ l[-1] }}{{ l[1:3] }}{{ l[:2] }}{{ l[3:] }}{{ l[::2] }}{{ l[::-1] }}{{ l[-2:] }}{{ l[10:] }}{{ l[3:1] }}",
        "{{ s[0] }}{{ s[-1] }}{{ s[4:9] }}{{ s[::-1] }}{{ s[26:33] }}{{ s[100:] }}|{{ s[-4:-1] }}{{ s[::3] }}",
        "{{ l[4:0:-2] }}{{ l[none:2] }}{{ l[true] }}{{ l[:-1] }}{{ l[-100:2] }}{{ l[100:-100:-1] }}", "{{ l[::0] }}", "{{ l['a':] }}",
        "{{ d['items'] }}{{ d.k }}{{ d['k'] }}{{ d['get'] }}{{ d['1'] }}|{{ d[1] }}", "{{ d.items is callable }}{{ d.get('k') }}{{ d.get('x', 5) }}",
        "{{ l.0 }}{{ l.4 }}", "{{ (1, 2)[0] }}{{ (1, 2, 3)[1:] }}", "{{ {}[[]] }}|", "{{ none['a'] }}|", "{{ 1[0] }}|", "{{ d.pop('k') }}", "{{ l.append(1) }}",
        "{{ d.update }}|", "{{ d.__class__ }}|", "{{ ''.__class__.x }}", "{{ s.nope }}|{{ s['upper']() | length }}", "{{ 'abc'[5] }}|{{ 'abc'['x'] }}|",
        "{% for k in d %}{{ k }},{% endfor %}{% for c in 'a\u00e9\U0001f600' %}<{{ c }}>{% endfor %}", "{{ l[1.0] }}|", "{{ range(10)[2] }}{{ range(10)[-1] }}",
        "{{ d.items()[0] }}|", "{{ l.index(2) }}{{ l.count(2) }}{{ (1, 1).count(1) }}", "{{ l.index(9) }}", "{{ d.copy() }}{{ dict(d, z=1) }}"]),
    ("if and set", {"a": 1}, [
        "{% if a == 2 %}2{% elif a == 1 %}1{% else %}x{% endif %}", "{% if false %}{% set b = 1 %}{% endif %}[{{ b }}]",
        "{% if true %}{% set b = 1 %}{% endif %}[{{ b }}]", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set (a, b) = [3, 4] %}{{ a }}{{ b }}",
        "{% set a, b = [1] %}", "{% set a, b = [1, 2, 3] %}", "{% set t = 1, 2 %}{{ t }}", "{% set t = none %}{{ t is none }}",
        "{% set x %}a{{ a }}b{% endset %}[{{ x }}]{{ x | length }}", "{% set x | upper | replace('A', 'z') %}abc{% endset %}{{ x }}",
        "{% set x %}{% set y = 5 %}{{ y }}{% endset %}{{ x }}{{ y }}", "{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}{{ x }}",
        "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}", "{% set a = a + 1 %}{{ a }}", "{% if a %}{{ 'x' if a > 1 else 'y' }}{% endif %}",
        "{% print 1, 'a' %}", "{% block b %}[{{ a }}]{% endblock %}", "{% block b %}x{% endblock b %}"]),
    ("for loops", {"l": ["a", "b", "c"], "d": {"x": 1, "y": 2}, "e": [], "tree": TREE, "pairs": [[1, 2], [3, 4]]}, [
        "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ x }};{% endfor %}",
        "{% for x in l %}[{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }}]{% endfor %}", "{% for x in l %}{{ loop.cycle('o', 'e') }}{{ loop.changed(x == 'b') }}{% endfor %}",
        "{% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for x in e %}x{% else %}empty{% endfor %}",
        "{% for x in l if x != 'b' %}{{ x }}{{ loop.index }}{{ loop.last }}{% else %}n{% endfor %}", "{% for x in l if x == 'z' %}{{ x }}{% else %}n{% endfor %}",
        "{% for a, b in pairs %}{{ a }}-{{ b }} {% endfor %}", "{% for a in pairs %}{% for b in a %}{{ loop.index }}{{ b }}{% endfor %}{{ loop.index }}{% endfor %}",
        "{% for n in tree recursive %}{{ n.n }}{{ loop.depth }}{{ loop.depth0 }}({{ loop(n.k) }}){% endfor %}", "{% for x in l %}{{ loop(l) }}{% endfor %}",
        "{% for x in 5 %}{% endfor %}", "{% for x in none %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}",
        "{% for x in l %}{% set y = x %}{% endfor %}[{{ y }}]", "{% set f = false %}{% for i in [1] %}{% set f = true %}{% endfor %}{{ f }}",
        "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}", "{% for i in range(3) %}{{ x }}{% set x = i %}{% endfor %}",
        "{{ loop }}{% for x in l %}{% endfor %}{{ x }}", "{% for x in l %}{{ loop }}{% endfor %}", "{% for x in range(100001) %}{% endfor %}",
        "{% for x in l | reverse %}{{ x }}{% endfor %}{% for x in l[::-1] %}{{ loop.nextitem is defined }}{% endfor %}", "{% for x in l %}{% for y in l if y == x %}{{ y }}{{ loop.length }}{% endfor %}{% endfor %}",
        "{% for loop in l %}{{ loop }}{% endfor %}" if False else "{% for x in 'ab' %}{{ x }}{% endfor %}"]),
    ("loop controls", {"l": [1, 2, 3, 4]}, [
        "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{{ loop.first }}{{ loop.last }};{% endfor %}",
        "{% for i in l %}{% for j in l %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% if i == 2 %}{% break %}{% endif %}{% endfor %}",
        "{% for i in [] %}{% break %}{% else %}e{% endfor %}", "{% break %}", "{% for i in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
        "{% for i in l %}{% break %}{% else %}e{% endfor %}x", "{% if true %}{% continue %}{% endif %}"]),
    ("macros and call", {"l": [1, 2]}, [
        "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, c=5) }}{{ m(b=1, a=3) }}{{ m() }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
        "{% macro m(a) %}x{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}x{% endmacro %}{{ m(b=2) }}", "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
        "{% macro m(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call m('b') %}in{% endcall %}", "{% macro m() %}{% for i in l %}{{ caller(i, i * 2) }}{% endfor %}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }};{% endcall %}",
        "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
        "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}", "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}",
        "{% macro m() %}{% set x = 5 %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{{ x }}", "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}", "{{ m.name }}{% macro m(a) %}{% endmacro %}{{ m.name }}",
        "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'b': 1, 'a': 2}) }}{{ m(*[1], **{'b': 2}) }}", "{% macro m() %} a {% endmacro %}[{{ m() | trim }}]{{ m() | length }}",
        "{% macro m(a, a) %}{% endmacro %}" if False else "{% macro m(a=1, b) %}{% endmacro %}", "{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}o{% endmacro %}{{ outer() }}",
        "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call m() %}{% endcall %}", "{% call l() %}{% endcall %}", "{% call l %}{% endcall %}", "{% macro m(x) %}{{ x is defined }}{% endmacro %}{{ m(nope) }}{{ m() }}{{ m(none) }}"]),
    ("namespace", {}, [
        "{% set ns = namespace(f=false) %}{% for i in [1] %}{% set ns.f = true %}{% endfor %}{{ ns.f }}", "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}[{{ ns.c }}]",
        "{% set ns = namespace() %}{% set ns.l = [1] %}{% set ns.l = ns.l + [2] %}{{ ns.l }}", "{% set x = 1 %}{% set x.y = 2 %}", "{% set nope.y = 2 %}", "{% set ns = namespace(_a=1) %}", "{% set ns = namespace() %}{% set ns._a = 1 %}",
        "{% set ns = namespace(a=1) %}{% set ns.a, ns.b = 3, 4 %}{{ ns.a }}{{ ns.b }}", "{% set ns = namespace(s='') %}{% set ns.s %}block{% endset %}{{ ns.s }}", "{{ namespace(a=1).a }}{{ namespace(1) }}", "{% set ns = namespace(a=1) %}{{ ns is mapping }}{{ ns is iterable }}{{ ns == ns }}"]),
    ("filters on text", {"s": S, "t": "  hello World-wide (web) \n"}, [
        "{{ t | trim }}|{{ t | upper }}|{{ t | lower }}|{{ t | capitalize }}|{{ t | title }}|{{ 'xxaxx' | trim('x') }}", "{{ s | upper }}{{ s | title }}{{ s | capitalize }}{{ '\u00df\ufb01\u01c6' | upper }}{{ '\u0130\u03a3' | lower }}{{ '\u01c6a' | capitalize }}",
        "{{ s | replace('o', '0') }}{{ 'aaa' | replace('a', 'b', 2) }}{{ 'ab' | replace('', '-') }}{{ 12 | replace(1, 'x') }}", "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\nb' | indent('> ') }}",
        "{{ 5 | indent }}", "{{ 'a' | center(5) }}|{{ 'ab' | center(5) }}|{{ 'abc' | center(2) }}", "{{ s | truncate(15) }}|{{ s | truncate(15, true) }}|{{ s | truncate(12, end='!', leeway=0) }}|{{ 'short' | truncate(3) }}", "{{ s | wordcount }}",
        "{{ '%s-%d' | format('a', 5) }}|{{ '%(x)s' | format(x=1) }}", "{{ s | urlencode }}|{{ {'a b': 1, 'c': '/&'} | urlencode }}|{{ [['k', 'v w']] | urlencode }}", "{{ {'a': 1, 'b': none, 'c': '<'} | xmlattr }}|{{ {} | xmlattr }}",
        "{{ '<a>&\"\\'' | e }}|{{ '<' | escape | e }}|{{ '<' | forceescape if false else '' }}", "{{ '<' | safe }}|{{ 'a' | safe + '<b>' }}|{{ '<i>' + ('a' | safe) }}|{{ 'a' | safe ~ '<b>' }}|{{ '<' | e is escaped }}|{{ ['<' | safe] }}",
        "{{ 1 | string + 'a' }}|{{ none | string }}|{{ [1] | string }}", "{{ 5 | upper }}{{ none | lower }}{{ [1, 'A'] | lower }}", "{{ 'abc' | reverse }}|{{ 'a' | length }}|{{ s | length }}|{{ 'abc' | first }}{{ 'abc' | last }}", "{{ 'b,a' | list }}{{ 'ba' | sort }}",
        "{% filter upper %}a{{ t }}b{% endfilter %}", "{% filter replace('a', 'x') | trim %} banana {% endfilter %}", "{{ 1234567 | filesizeformat }}|{{ 1 | filesizeformat }}|{{ 999 | filesizeformat }}|{{ 1048576 | filesizeformat(true) }}|{{ 1500 | filesizeformat }}", "{{ 'x' | nope }}",
        "{% if false %}{{ 'x' | nope }}{% endif %}ok", "{% if true %}{{ 'x' | nope }}{% endif %}", "{{ 'x' | nope if false else 'y' }}", "{% if false %}{% for i in [1] %}{{ 'x' | nope }}{% endfor %}{% endif %}", "{{ 'a' is nope }}", "{% if false %}{{ 1 is nope }}{% endif %}k"]),
    ("filters on numbers", {}, [
        "{{ 2.5 | round }}|{{ 3.5 | round }}|{{ 2.675 | round(2) }}|{{ 5 | round }}|{{ 1234 | round(-2) }}|{{ 1250 | round(-2) }}|{{ 2.1 | round(0, 'ceil') }}|{{ 2.19 | round(1, 'floor') }}|{{ -2.5 | round }}", "{{ 42.7 | int }}|{{ '42' | int }}|{{ '42.9' | int }}|{{ 'x' | int }}|{{ 'x' | int(7) }}|{{ '0x1f' | int(base=16) }}|{{ none | int }}|{{ ' 5_0 ' | int }}|{{ true | int }}|{{ '-3' | int }}|{{ [] | int(1) }}",
        "{{ '3.5' | float }}|{{ 3 | float }}|{{ 'x' | float }}|{{ 'x' | float(1.5) }}|{{ '1e3' | float }}|{{ 'inf' | float }}|{{ 'nan' | float }}|{{ none | float }}", "{{ [1, 2, 3] | sum }}|{{ [] | sum }}|{{ [1.5, 2] | sum }}|{{ [{'a': 1}, {'a': 2}] | sum(attribute='a') }}|{{ [1] | sum(start=10) }}", "{{ ['a'] | sum }}", "{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}|{{ ['b', 'A'] | min }}{{ ['b', 'A'] | max }}|{{ [] | max }}", "{{ 3 | divisibleby(2) }}", "{{ 5 | length }}", "{{ -7 | abs }}{{ 'a' | abs }}"]),
    ("filters on sequences", {"ms": MS, "d": {"b": 1, "a": 2, "C": 0}, "n": [3, 1, 2]}, [
        "{{ n | sort }}{{ n | sort(reverse=true) }}{{ ['b', 'A', 'c'] | sort }}{{ ['b', 'A'] | sort(case_sensitive=true) }}{{ ms | sort(attribute='c', reverse=true) | map(attribute='c') | list }}{{ ms | sort(attribute='role,c') | map(attribute='c') | list }}", "{{ [1, 'a'] | sort }}", "{{ d | dictsort }}{{ d | dictsort(true) }}{{ d | dictsort(by='value') }}{{ d | dictsort(reverse=true) }}", "{{ d | dictsort(by='x') }}", "{{ [1] | dictsort }}",
        "{{ ms | selectattr('role', 'equalto', 'user') | map(attribute='c') | join('|') }}", "{{ ms | rejectattr('role', 'equalto', 'user') | map(attribute='c') | list }}{{ ms | selectattr('c') | list | length }}{{ ms | selectattr('x', 'defined') | list }}", "{{ n | select('odd') | list }}{{ n | reject('odd') | list }}{{ [0, 1, '', 'a'] | select | list }}{{ [1, none] | reject('none') | list }}{{ n | select('gt', 1) | list }}{{ n | select('in', [1, 2]) | list }}",
        "{{ n | map('string') | join(',') }}{{ ['a', 'b'] | map('upper') | list }}{{ ms | map(attribute='z', default='-') | list }}{{ ['a'] | map('replace', 'a', 'b') | list }}{{ [[1, 2]] | map('first') | list }}{{ ms | map(attribute='role.0') | list if false else '' }}", "{{ n | map | list }}", "{{ n | map('nope') | list }}", "{{ n | select('nope') | list }}", "{{ n | map(attribute='a', x=1) | list }}",
        "{{ n | join }}|{{ n | join(', ') }}|{{ ms | join('-', attribute='c') }}|{{ [none, true, 1.0] | join(' ') }}|{{ {'a': 1, 'b': 2} | join(',') }}", "{{ n | first }}{{ n | last }}{{ (1, 2) | last }}{{ d | first }}{{ d | last }}", "{{ n | reverse | list }}{{ n | list }}{{ d | list }}{{ 'ab' | list }}{{ (1, 2) | list }}", "{{ n | length }}{{ d | length }}{{ '' | length }}{{ d | count }}", "{{ [1, 2, 3, 4, 5] | batch(2) | list }}{{ [1, 2, 3] | batch(2, 'x') | list }}{{ [1, 2, 3, 4, 5] | slice(2) | list }}{{ [1, 2, 3] | slice(2, 'x') | list }}",
        "{{ ['a', 'A', 'b', 'a'] | unique | list }}{{ ['a', 'A'] | unique(true) | list }}{{ [1, 1.0, 2] | unique | list }}{{ ms | unique(attribute='role') | map(attribute='c') | list }}", "{{ ms | groupby('role') }}", "{% for g, items in ms | groupby('role') %}{{ g }}:{{ items | length }} {% endfor %}{{ ms | groupby('zz', default='-') | length }}", "{% for g in ms | groupby('t') %}{{ g[0] }}{{ g[1] | length }}{% endfor %}", "{{ d | items | list }}{{ nope | items | list }}", "{{ n | items | list }}",
        "{{ ms | map(attribute='c') | length }}", "{{ 1 if ms | selectattr('role', 'equalto', 'nobody') else 2 }}{{ 1 if [] | select else 2 }}", "{{ (ms | map(attribute='c'))[0] }}|", "{% set g = n | map('string') %}{{ g | list }}{{ g | list }}", "{{ n | map('abs') | first }}{{ n | map('abs') | last }}", "{{ d | map('upper') | list }}", "{{ ms | attr('x') }}|{{ d | attr('a') }}|{{ 'a' | attr('upper') is callable }}", "{{ [[3, 'c'], [1, 'a']] | sort }}{{ [{'a': 1}] | sort }}", "{{ [{'a': 1}, {'a': 0}] | sort }}", "{{ ['x'] | map('int', 5) | list }}{{ n | min }}{{ ms | max(attribute='c') }}"]),
    ("tojson", {"t": T, "n": [1e20, 1e-7, 0.1, -0.0, 123456789012], "s": "q\" \\ / \b\f\n\r\t\x01 \x7f \u2028 \U0001f600 <&'>"}, [
        "{{ t | tojson }}", "{{ t | tojson(ensure_ascii=True) }}", "{{ t | tojson(indent=2) }}", "{{ t | tojson(sort_keys=true, separators=(',', ':')) }}", "{{ n | tojson }}", "{{ s | tojson }}", "{{ s | tojson(ensure_ascii=true) }}", "{{ t | tojson(indent='--') }}", "{{ t | tojson(indent=0) }}", "{{ [] | tojson(indent=2) }}{{ {} | tojson(indent=4) }}{{ [[], {}] | tojson(indent=1) }}",
        "{{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}", "{{ (1, 'a') | tojson }}", "{{ {(1, 2): 3} | tojson }}", "{{ nope | tojson }}", "{{ range(3) | tojson }}", "{{ t.items() | tojson }}", "{{ none | tojson }}{{ true | tojson }}{{ 'a' | tojson }}{{ 1.0 | tojson }}", "{{ t | tojson(true, 1) }}", "{{ t | tojson(nope=1) }}", "{{ '<' | safe | tojson }}", "{{ [1, 2] | tojson(separators=(', ', ': '), indent=1) }}", "{{ ('inf' | float) | tojson }}{{ ('nan' | float) | tojson }}"]),
    ("tests", {"d": {"a": 1}, "l": [1], "s": "aB"}, [
        "{% for v in [none, true, 1, 1.5, 'a', [1], (1,), {'a': 1}, range(2)] %}{{ v is none }}{{ v is boolean }}{{ v is integer }}{{ v is float }}{{ v is number }}{{ v is string }}{{ v is sequence }}{{ v is mapping }}{{ v is iterable }}{{ v is callable }}{{ v is true }}{{ v is false }}|{% endfor %}", "{{ 3 is odd }}{{ 4 is even }}{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(4) }}{{ 'a' is odd }}", "{{ 'abc' is lower }}{{ 'ABC' is upper }}{{ s is lower }}{{ '1' is lower }}", "{{ 1 is sameas 1 }}{{ true is sameas true }}{{ true is sameas 1 }}", "{{ 1 is in [1] }}{{ 'a' is in 'abc' }}{{ 1 is not in [1] }}",
        "{{ 1 is eq 1 }}{{ 1 is ne 1 }}{{ 1 is lt 2 }}{{ 2 is ge 2 }}{{ 1 is equalto(1.0) }}{{ 1 is gt 2 }}{{ 1 is le 1 }}{{ 3 is greaterthan 2 }}{{ 3 is lessthan 2 }}", "{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}", "{{ s is string and s is defined }}{{ s is not none }}{{ not s is none }}", "{{ 'y' if s is defined else 'n' }}", "{{ s is defined is string }}", "{{ d.items is callable }}{{ d.get is defined }}{{ s.upper is defined }}{{ cycler is callable }}", "{{ l is sequence and l is not string and l is not mapping }}"]),
    ("string methods", {"s": S, "w": "  a b  c "}, [
        "{{ w.split() }}{{ w.split(' ') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ ''.split() }}{{ ''.split(',') }}{{ w.split(none, 1) }}{{ w.rsplit(none, 1) }}{{ 'a b'.split(maxsplit=0) }}{{ 'aXXb'.split('XX')[-1] }}", "{{ 'a'.split('') }}", "{{ w.strip() }}|{{ w.lstrip() }}|{{ w.rstrip() }}|{{ 'xyx'.strip('x') }}|{{ '\u3000a\u00a0'.strip() }}|{{ '\\n\\na\\n'.lstrip('\\n') }}|{{ 'ab'.rstrip('ba') }}", "{{ s.startswith('The') }}{{ s.endswith('over') }}{{ s.startswith(('x', 'T')) }}{{ s.startswith('quick', 7) }}{{ 'a'.startswith('') }}{{ 'abc'.endswith('b', 0, 2) }}", "{{ 'a'.startswith(1) }}",
        "{{ s.find('quick') }}{{ s.rfind('o') }}{{ s.find('zz') }}{{ s.index('b') }}{{ s.count('o') }}{{ 'aaa'.count('aa') }}{{ 'abc'.count('') }}{{ s.find('over', 5) }}{{ '\u65e5\u672ca'.find('a') }}{{ 'abc'.find('', 4) }}", "{{ s.index('zz') }}", "{{ s.upper() }}{{ s.lower() }}{{ s.title() }}{{ s.swapcase() }}{{ s.capitalize() }}{{ '\u00df'.casefold() }}{{ \"they're bill's\".title() }}", "{{ s.replace('o', '0', 1) }}{{ 'aa'.replace('a', '') }}{{ 'ab'.replace('', '.') }}", "{{ ','.join(['a', 'b']) }}{{ ','.join('ab') }}{{ ''.join([]) }}", "{{ ','.join([1]) }}", "{{ 'a\\nb\\r\\nc\\n'.splitlines() }}{{ 'a\\nb'.splitlines(true) }}{{ ''.splitlines() }}{{ 'a\\u2028b\\x0bc'.splitlines() }}",
        "{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'abc'.partition('-') }}{{ 'abc'.rpartition('-') }}", "{{ 'prefix_x'.removeprefix('prefix_') }}{{ 'x.py'.removesuffix('.py') }}{{ 'x'.removeprefix('y') }}", "{{ 'a'.center(5) }}|{{ 'a'.ljust(3, '-') }}|{{ 'a'.rjust(3) }}|{{ '5'.zfill(3) }}|{{ '-5'.zfill(4) }}|{{ 'ab'.center(5, '*') }}|{{ 'a\tb'.expandtabs(4) }}", "{% for x in ['a', '1', 'a1', ' ', '', 'A', '\u00bd', '\u00b2', '\u0661', 'a b', 'Ab', '_x', '\u65e5'] %}{{ x.isalpha() }}{{ x.isdigit() }}{{ x.isdecimal() }}{{ x.isnumeric() }}{{ x.isalnum() }}{{ x.isspace() }}{{ x.isupper() }}{{ x.islower() }}{{ x.istitle() }}{{ x.isascii() }}{{ x.isidentifier() }}{{ x.isprintable() }}|{% endfor %}", "{{ 'x'.nope() }}", "{{ 'a'.upper(1) }}", "{{ 'a'.replace('a') }}"]),
    ("string formatting", {"n": 255, "f": 3.14159, "d": {"k": "v"}}, [
        "{{ '%s %r %d' % ('a', 'b', 5) }}{{ '%5d|%-5d|%05d|%+d' % (1, 2, 3, 4) }}{{ '%x %X %o %#x' % (n, n, n, n) }}", "{{ '%.2f|%8.3f|%e|%g|%G' % (f, f, f, f, 1e-10) }}", "{{ '%(k)s' % d }}{{ '%s' % d }}{{ '%s' % none }}{{ '%%' % () }}{{ '%c%c' % ('a', 66) }}", "{{ '%s' % (1, 2) }}", "{{ '%s %s' % 1 }}", "{{ '%d' % 'a' }}", "{{ '%d' % 3.9 }}{{ '%i' % true }}{{ '%.3s' % 'abcdef' }}{{ '%*d' % (5, 1) }}", "{{ 'a' % 1 }}", "{{ '%y' % 1 }}", "{{ '%(zz)s' % d }}",
        "{{ '{} {}'.format(1, 'a') }}{{ '{1}{0}'.format('a', 'b') }}{{ '{x}'.format(x=5) }}{{ '{{}}'.format() }}{{ '{0.k}{0[k]}'.format(d) }}", "{{ '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd') }}{{ '{:5d}|{:05d}|{:+d}|{:,}|{:x}|{:#x}|{:b}'.format(1, 2, 3, 1234567, n, n, 5) }}", "{{ '{:.2f}|{:8.3f}|{:e}|{:.1%}|{:g}|{:,.2f}'.format(f, f, f, 0.256, 1e6, 12345.678) }}", "{{ '{!r}{!s}'.format('a', 'b') }}{{ '{:{}}|'.format('a', 4) }}{{ '{:.2}'.format('abc') }}{{ '{}'.format(none) }}{{ '{}'.format([1]) }}{{ '{}'.format(true) }}{{ '{}'.format(1.0) }}", "{{ '{} {}'.format(1) }}", "{{ '{x}'.format() }}", "{{ '{:d}'.format('a') }}", "{{ '{'.format() }}", "{{ '}'.format() }}", "{{ '{0}{}'.format(1, 2) }}", "{{ '{:5}|{:<5}|'.format(3, 3) }}{{ '{:>+6.1f}'.format(2.55) }}{{ '{:=+6d}'.format(5) }}{{ '{k}'.format_map(d) }}"]),
    ("dict and list methods", {"d": {"b": 1, "a": 2}}, [
        "{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}{{ d.keys() | list }}{{ d.values() | list }}{{ d.get('b') }}{{ d.get('z') }}{{ d.get('z', 'y') }}", "{{ d.items() | length }}{{ 'a' in d.keys() }}{{ 2 in d.values() }}{{ d.items() | list }}", "{{ d.get() }}", "{{ d.get([]) }}", "{{ d.fromkeys(['x'], 1) if false else '' }}{{ dict(a=1) }}{{ dict([('a', 1), ('b', 2)]) }}{{ dict() }}{{ dict({'z': 1}, y=2) }}", "{{ dict(1) }}", "{{ {'a': 1, 'a': 2} }}{{ {1: 'x', 1.0: 'y', true: 'z'} }}", "{{ {[]: 1} }}", "{{ {'a': 1}.a }}{{ [{'a': [1, {'b': 'x'}]}][0].a[1].b }}", "{{ d.setdefault('a', 1) }}", "{{ d.clear() }}", "{{ [3, 1].sort() }}", "{{ d.items()|map('first')|join(',') }}{{ d.keys()|join }}"]),
    ("global functions", {}, [
        "{{ range(5) | list }}{{ range(2, 5) | list }}{{ range(5, 0, -2) | list }}{{ range(0) | list }}{{ range(3) | length }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ range() }}", "{{ raise_exception('boom') }}", "{% if false %}{{ raise_exception('boom') }}{% endif %}fine", "{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%Y-%m-%d %H:%M:%S %A %B %j %p %I %y %%') }}|{{ strftime_now('') }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}", "{% set j = joiner(', ') %}{% for x in [1, 2, 3] %}{{ j() }}{{ x }}{% endfor %}", "{{ nope_function() }}", "{{ 5() }}", "{{ 'a'() }}", "{{ range is callable }}{{ strftime_now is defined }}{{ raise_exception is defined }}", "{{ dict is defined }}{{ namespace is defined }}"]),
    ("generation", {}, ["{% generation %}hi{% endgeneration %}!", "{% for x in [1, 2] %}{% generation %}{{ x }}{% set y = x %}{% endgeneration %}[{{ y }}]{% endfor %}", "{%- generation -%}  a  {%- endgeneration -%}  b", "{% generation %}", "{% for i in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}"]),
    ("whitespace", {"l": [1, 2]}, [
        "  {% if true %}\n  A\n  {%- endif %}\nB\n   {{ 'x' }}\n{# c #}\nC\n", "  {%+ if true %}\nA{% endif +%}\nB", "A\n", "A\n\n", "\nA", "a  {%- if true -%}  b  {%- endif -%}  c", "a {{- 'b' -}} c", "a\n  {{- 'b' }}\n c", "a {#- c -#} b", "  {# c #}  x", "  {# c #}\n  x", "{% for i in l %}\n  {{ i }}\n{% endfor %}\nend", "{% for i in l -%}\n  {{ i }}\n{%- endfor %}\n", "x {% if true %} y {% endif %} z", "\t{% if true %}\n\ty\n\t{% endif %}\nz", "a\r\nb\rc\n{% if true %}\r\nd{% endif %}", "{% if true +%}\n a{% endif %}", "  {%- if true %}\n  b\n  {%- endif +%}\n c", "{{ 'a\r\nb' }}", "a \u00a0\u3000{%- if true %}b{% endif %}", "  {%+ set x = 1 %}  y", "{%- set x = 1 -%}\n\n  {{ x }}", "   {% set x = 1 %}   {% set y = 2 %}\n{{ x }}", "{{ 1 }}\n", "{{ 1 }}\n\n", "{% if true %}\n\na\n{% endif %}\n\nb"]),
    ("raw and comments", {"x": 1}, ["{% raw %}{{ x }}{% if %}{% endraw %}", "{% raw -%}  {{ x }}  {%- endraw %}", "  {% raw %}\n a {% endraw %}\n b", "{%- raw %} {{ {% endraw -%} z", "{# {{ nope | nope }} #}a", "{# a\n b #}c{#- d #}", "{#", "{% raw %}a", "{##}a{#-#}b{#+ x +#}\nc", "{{ '{{' }}{{ '%}' }}{{ \"}}\" }}", "{{ {'a': {'b': 1}} }}{{ {'a': {'b': 1}}['a']['b'] }}", "a { b } {c} % # {x"]),
    ("errors of syntax", {}, ["{% if %}", "{% if true %}", "{% endif %}", "{% for x %}{% endfor %}", "{{ }}", "{{ 1 + }}", "{{ (1 }}", "{{ 1) }}", "{{ [1 }}", "{{ 'a }}", "{% nope %}", "{% set 1 = 2 %}", "{% set x %}", "{% macro %}{% endmacro %}", "{{ x.  }}", "{{ a b }}", "{{ 1 2 }}", "{% for x in l %}{% endif %}", "{% else %}", "{{ x | }}", "{{ x is }}", "{% set true = 1 %}", "{{ @ }}", "{{ a ? b : c }}", "{{ f(a=1, 2) }}", "{{ f(**a, *b) }}", "{% include 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}", "{% extends 'x' %}", "{% do x %}", "{{ a[1:2:3:4] }}", "{{ 'a' if }}", "{{ not }}", "{% if a = b %}{% endif %}", "{{ a == }}", "{% set a.b.c = 1 %}", "{{ x", "{% if true", "{{ {1} }}", "{{ 08 }}", "{{ 1.e5 }}|", "{{ lambda x: x }}", "{% for in x %}{% endfor %}", "{% set x = %}", "{% call %}{% endcall %}", "{{ f(a=1, a=2) }}", "{{ [1,,2] }}", "{% for x in y %}", "{{ 1 }} }}", "{% set for = 1 %}{{ for }}"]),
    ("operators on their edges", {"a": {"b": {"c": [1, 2, {"d": "e"}]}}, "x": "q"}, [
        "{{ a.b.c[2].d }}{{ a['b']['c'][-1]['d'] }}{{ a.b['c'].0 }}", "{{ -1 | abs }}{{ (-1) | abs }}{{ 2 - 1 | abs }}{{ -1.5 | int }}", "{{ x | upper ~ 'a' | lower }}{{ 'a' ~ 1 + 2 }}{{ 1 + 2 ~ 'a' }}", "{{ not x == 'q' }}{{ not x in 'qq' }}{{ x not in ['a'] }}", "{{ x and x | length > 0 }}{{ x or y.z }}{{ false and y.z }}", "{{ ('a', 'b')[x == 'q'] }}{{ [1, 2][0] if x else 3 }}", "{{ x is string and x | length == 1 }}{{ 1 is number is defined }}", "{{ 'a' if x == 'z' else 'b' if x == 'q' else 'c' }}", "{{ (x) }}{{ (1, ) }}{{ () }}{{ ((1, 2), 3) }}", "{{ 1, 2 }}{{ x, }}", "{{ [1, 2, ] }}{{ {'a': 1, } }}", "{{ 1if true else 2 }}", "{{ x.upper().lower() | title | replace('Q', 'r') }}", "{{ 'a' in x or 'q' in x and not false }}", "{{ [x] + ['y'] | map('upper') | list }}", "{{ true if x is defined and x != '' else false }}", "{{ a.b.c | map('string') | join(';') }}", "{{ 1 < 2 == true }}{{ (1 < 2) == true }}{{ 1 == 1 in [true] }}", "{{ - 5 }}{{ + 5 }}{{ --5 }}{{ 5 - -5 }}", "{{ 2 * 3 ** 2 }}{{ -3 % 5 }}{{ 7 // 2 * 2 + 7 % 2 }}{{ 10 - 2 - 3 }}{{ 100 / 10 / 2 }}"]),
]


def cases():
    for feature, context, templates in GROUPS:
        for template in templates:
            yield feature, template, context
