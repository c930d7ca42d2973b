#!/usr/bin/env python3
"""Writes tests/compliance/golden/rule_language.tsv: fragments of rule code and what Python makes of them.

Each line: kind (eval or exec), code, result: repr() of the value (eval) or of the state `s` (exec), or ERROR where
Python raises. Run from the root of the source tree.
"""
import ast
import math

VALUES = """0 1 -1 7 2.5 -0.5 1e16 1.0 True None '' 'abc' [] [1,2] (1,2) {'a':1}
float('inf') float('nan') 9223372036854775807""".split()
BINARY = "+ - * / // % ** == != < <= > >= in | & and or is".split()


def is_integer(value):
    return abs(round(value) - value) < 0.00001


EVAL = """1 + 2 * 3 - 4
(1 + 2) * 3
-2 ** 2
2 ** -1
2 ** 0.5
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3
7.5 // 2, -7.5 % 2
1 / 4
1 / 0
1 // 0
1 % 0
0 ** -1
1 < 2 < 3
3 > 2 > 2
1 == 1.0 == True
1 in [1, 2], 3 in [1, 2], 1.0 in [1, 2]
'a' in 'abc', '' in 'abc', 'x' not in 'abc'
'a' in {'a': 1}, 1 in {1.0: 2}
1 in 5
not 0, not 1, not '', not 'a', not [], not None
1 if True else 2
1 if 0 else 2 if 0 else 3
None is None, None is not None
True and False or True
0 or 'x'
1 and 'x'
'a' 'b'
'a' + 'b'
'a' + 1
[1] + [2]
'it\\'s'
"double 'single'"
{'a': [1, {'b': (1,)}]}
{1, 1.0, True}
(1,)
()
[[], {}, ()]
'{}'.format(5)
'{}-{}'.format('a', 1.5)
'{0}{1}{0}'.format('a', 'b')
'{{}}'.format(1)
'{}'.format()
'{} {}'.format(1)
'ABC'.lower(), 'abc'.upper()
'abc'.startswith('ab'), 'abc'.endswith('bc')
' a '.strip()
len('abc'), len([1, 2]), len({}), len(())
len(5)
abs(-3), abs(2.5), abs(True)
abs('x')
min(3, 1, 2), max([3, 1, 2]), min('b', 'a')
min(1, 2.0), max(1, 1.0)
min([])
min(1, 'a')
sorted([3, 1, 2]), sorted(['b', 'a']), sorted((2, 1))
sorted([1, 'a'])
sum([1, 2, 3]), sum([0.5, 1])
float('1.5'), float(' 2 '), float('inf'), float(3), float(True)
float('x')
int('12'), int(' -7 '), int(3.9), int(-3.9), int(True)
int('1.5')
int(float('nan'))
bool(0), bool('a'), bool([])
str(1), str(1.0), str(True), str(None), str([1, 'a'])
str(1e16), str(1e15), str(1e-4), str(1e-5), str(0.1), str(1e22), str(123456789.123)
round(2.5), round(3.5), round(-2.5), round(2.4)
round(2.675, 2), round(1.2345, 3)
round(float('inf'))
isinstance(1, int), isinstance(True, int), isinstance(1.0, int), isinstance('a', str), isinstance(1, (int, float))
isinstance(1, 5)
type(1) == int, type(True) == bool, type(True) == int, type('') == str, type(1) == type(2)
math.ceil(1.2), math.floor(-1.2), math.ceil(3)
math.log2(8), math.log10(1000), math.log(1), math.sqrt(16), math.exp(0), math.fabs(-2)
math.log2(0)
math.log(-1)
math.sqrt(-1)
math.isclose(1e-6, 1e-6), math.isclose(1.0, 1.0 + 1e-10), math.isclose(1, 1.1)
math.isnan(float('nan')), math.isinf(float('inf')), math.isfinite(1)
math.pow(2, 3)
is_integer(1.0), is_integer(1.5), is_integer(2), is_integer(1.000001), is_integer(math.log2(0.0016 / 0.0001))
is_integer('a')
is_integer(float('inf'))
list((1, 2)), tuple([1, 2]), list('ab'), list({'a': 1})
range(3)[2], list(range(2)), list(range(1, 4))
all([1, True]), any([0, '']), all([]), any([])
[1, 2][0], [1, 2][-1], (1, 2)[1], 'abc'[1], {'a': 1}['a'], [1, 2][True]
[1, 2][2]
{'a': 1}['b']
{[]: 1}
{'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 2)
list({'a': 1}.keys()), list({'a': 1}.values()), list({'a': 1}.items())
[1, 1, 2].count(1)
True | False, True & False, True ^ True, 5 | 2, 6 & 3
True | 1
1.5 | 1
{1: 1} == {1.0: True}, [1] == (1,), (1, 2) == (1, 2.0)
[1, 2] < [1, 3], (1,) < (1, 2), [2] > [1, 9]
'a' < 'b', 'a' < 'aa', 'B' < 'a'
1 < 'a'
None < 1
None == 0, None != 0
float('nan') == float('nan'), float('nan') < 1, float('nan') != 1
float('inf') > 1e308, 1 in [1, float('inf')]
1e308 * 10
10.0 ** 400
9223372036854775807 == 9223372036854775807.0
9007199254740993 == 9007199254740992.0
+1, -True, - -1
1_200_000 + 1_0.2_5e1_0
1__0
1_
not 1 == 2
1 +
(1
'a
1 = 2
""".split("\n")[:-1]

EXEC = """s['x'] = 1; s['y'] = s['x'] + 1
s['x'] += 1
s['l'] = [1]; s['l'] += [2]; s['l'].append(3); s['l'].extend((4, 5))
s['a'] = s['b'] = 1
s.update({'a': 1, 'b': [2]}); s['b'][0] = 9
x = 5; s['x'] = x
s['x'] = undefined_later; undefined_later = 1
if True: s['x'] = 1
if 0:\\n    s['x'] = 1\\nelif 1:\\n    s['x'] = 2\\nelse:\\n    s['x'] = 3
for i in [1, 2, 3]:\\n    s['sum'] = s.get('sum', 0) + i
for i in range(3):\\n    if i == 1:\\n        s['x'] = i\\n    else:\\n        s['y'] = i
for c in 'ab':\\n    s[c] = 1
for k in {'p': 1, 'q': 2}: s[k] = 0
s['a'] = []; s['b'] = s['a']; s['b'].append(1)
s['t'] = (1, 2); s['t'][0] = 5
s['x'] = max(1, int(math.ceil(0.001 * 5000 / 64))) * 64
s['x'] = 2; s['x'] -= 1; s['x'] *= 8; s['x'] /= 2; s['x'] //= 3; s['x'] **= 2
from dataclasses import replace; s['x'] = 1
import math; s['x'] = math.pi
pass
s['x'] = 1 # comment
# only a comment
s['multi'] = [\\n  1,\\n  2]
""".split("\n")[:-1]


def is_tuple(code):
    try:
        return isinstance(ast.parse(code, mode="eval").body, ast.Tuple) and not code.startswith("(")
    except SyntaxError:
        return False


def run(kind, code):
    s = {}
    scope = {"is_integer": is_integer, "math": math, "s": s}
    try:
        if kind == "eval":
            return repr(eval(code.strip(), scope))
        exec(code.strip(), scope, {})
        return repr(s)
    except BaseException:  # the language under test has one kind of error
        return "ERROR"


def main():
    lines = [("eval", f"({code})" if is_tuple(code) else code) for code in EVAL]  # the language has no bare tuples
    lines += [("eval", f"{a} {op} {b}") for a in VALUES for op in BINARY for b in VALUES
              if not (op == "is" and "None" not in (a, b)) and not (op == "**" and "9223372036854775807" in (a, b))]
    lines += [("exec", code) for code in EXEC]
    with open("tests/golden/compliance/rule_language.tsv", "w") as out:
        for kind, code in lines:
            out.write(f"{kind}\t{code}\t" + run(kind, code.replace("\\n", "\n")).replace("\n", "\\n") + "\n")


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")
    main()
