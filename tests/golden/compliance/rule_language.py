#!/usr/bin/env python3
"""Writes tests/golden/compliance/rule_language.tsv: fragments of rule code and what Python makes of them.

Each line: kind (eval, exec, json, divide, order or float), code, result: repr() of the value (eval, json), of the state `s`
(exec), of the first integer divided by the second (divide), of whether it is less, equal or greater (order) or of the integer
as a float (float), or ERROR where Python raises. Run from the root of the source tree.
"""
import ast
import json
import math
import random

VALUES = """0 1 -1 7 2.5 -0.5 1e16 1.0 True None '' 'abc' [] [1,2] (1,2) {'a':1}
float('inf') float('nan') 9223372036854775807""".split()
FUNCTIONS = """abs all any bool dict float int is_integer len list max min round sorted str sum tuple
math.ceil math.exp math.fabs math.floor math.isfinite math.isinf math.isnan math.log math.log10 math.log2
math.sqrt""".split()
PAIRS = "isinstance math.isclose math.log math.pow max min".split()
METHODS = "append extend get format lower upper startswith endswith".split()
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
range(3)[2], list(range(2)), list(range(1, 4)), list(range(3, 1)), list(range(-2))
all([1, True]), any([0, '']), all([]), any([])
[1, 2][0], [1, 2][-1], (1, 2)[1], 'abc'[1], {'a': 1}['a'], [1, 2][True]
[1, 2][2]
{'a': 1}['b']
{[]: 1}
{'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 2)
list({'a': 1}.keys()), list({'a': 1}.values()), list({'a': 1}.items())
[1, 1, 2].count(1), [1, 'a'].count('a'), [].count(1)
[1].count()
list({}.keys()), list({}.values()), list({}.items())
{'a': 1}.items(1)
list({'a': 1, 'b': [2]}.items()), list({'a': 1, 'b': 2}.values())
dict({'a': 1, 'b': 2}), dict({}) == {}
set([1, 2, 1]) == {2, 1}, len(set('aab')), set() == set([])
set(5)
'\\t a b \\t'.strip(), ''.strip(), '   '.strip()
'Z{|az[`'.lower(), 'Z{|az[`'.upper(), '@AZ'.lower(), '`az'.upper()
'}'.format()
'{'.format()
'{{{0}}}'.format(1), '{1}'.format(0, 1), '}}{{'.format()
'{2}'.format(0, 1)
'{a}'.format(1)
'{0'.format(1)
float('+1.5'), float('1e400'), float('-1e400'), float('1e-400'), float('nan') != float('nan')
float('')
float('1.5x')
float('+')
int('+12'), int('0'), int('-0')
int('')
int('12x')
int('1 2')
int(1e18), int(9.3e18), int(-9.3e18), int(1e20)
round(1.5, 0), round(1234.5678, 2), round(-0.125, 2), round(1e-7, 6), round(0.5, 3), round(7, 2), round(True)
round(1.5, 400), round(float('nan'), 2), round(float('inf'), 2)
round('a')
round('a', 1)
round(1, 2, 3)
sorted('cab'), sorted({'b': 1, 'a': 2}), sorted([(1, 'b'), (1, 'a'), (0, 'c')]), sorted([1.5, 1, True, 0])
sum([True, True, 2]), sum([1, 0.5, True]), sum(()), sum([9223372036854775806, 1])
sum(['a'])
sum(5)
min('b', 'ab'), max('b', 'ab'), max(1, True, 1.0), min([2, 1], [1, 2]), max((1,), (1, 0)), min('cab'), max({'a': 1, 'b': 0})
max()
isinstance('a', (int, str)), isinstance(1.5, (int, str)), isinstance([], list), isinstance((), list), isinstance((), tuple)
isinstance({}, dict), isinstance([], dict), isinstance(None, int), isinstance(1, bool), isinstance(1.0, float), isinstance(True, float)
isinstance({1}, set), isinstance({}, set), isinstance(1, ())
isinstance(1)
type(1) == float, type(1.0) == float, type([]) == list, type(()) == tuple, type({}) == dict, type({1}) == set, type('') == type('a')
type(None) == type(None), type(None) == int, type([]) == type(()), type(int) == type(str), type(1) == type(True)
type(1, 2)
math.ceil(-1.2), math.floor(1.9), math.ceil(1e300) == math.floor(1e300), math.ceil(True), math.floor(7)
math.ceil(float('nan'))
math.floor(float('inf'))
math.ceil('a')
math.log(8, 2), math.log(100, 10), math.log(1, 7)
math.log(0)
math.log(-1, 2)
math.log10(0)
math.exp(1000)
math.exp(float('inf')), math.exp(float('-inf')), math.sqrt(float('inf')), math.sqrt(0)
math.pow(2, 0.5), math.pow(2, -1), math.pow(0, 0), math.pow(-2, 3)
math.pow(10, 400)
math.pow(2)
math.sqrt(1, 2)
math.isclose(1e-6, 1.1e-6), math.isclose(0, 1e-12), math.isclose(1e9, 1e9 + 1), math.isclose(1e9, 1e9 + 0.5), math.isclose(-1, 1)
math.isclose(1e999, 1e999), math.isclose(1e999, 1), math.isclose(1, 1e999), math.isclose(-1e999, 1e999), math.isclose(2e9, 2e9 - 2)
math.pi, math.e, math.inf, -math.inf, math.inf > 1e308, math.nan != math.nan
is_integer(0.00001), is_integer(-0.00001), is_integer(True), is_integer(2.00002), is_integer(1.99999), is_integer(1.999991), is_integer(-3.0), is_integer(0.5), is_integer(-2.000005)
is_integer(float('nan'))
is_integer([])
is_integer(1, 2)
abs(-2.5), abs(0), abs(False), abs(-9223372036854775807)
bool(0.0), bool({}), bool({'a': 1}), bool(()), bool((0,)), bool(None), bool(float('nan')), bool('0')
all('ab'), any(''), all([0, 1]), any([0, 1]), all({'a': 0}), any({0})
all(5)
list('aé'), len('aé'), 'aé'[1], 'é' in 'aé', 'é' < 'f', '日本'[0], len('日本')
list(5)
tuple('ab'), tuple({'a': 1}), tuple(()), list([1, [2]])
str(), str({'a': (1,)}), str(-0.0), str(1e100), str(1.5e-7), str(12345678901234567890.0), str(float('-inf')), str(0.1 + 0.2)
str(1, 2)
'%s'
(1, 2)[5]
'abc'[-3], 'abc'[-1], (1, 2)[-2], (1, 2)[-1]
'abc'[3]
'abc'[-4]
[1, 2][-3]
[1]['a']
[1][1.0]
{'a': {'b': [1, 2]}}['a']['b'][-1]
{1: 'a'}[1.0], {True: 'a'}[1], {(1, 2): 'b'}[(1, 2)]
5['a']
{1: 2, 1.0: 3}, {'a': 1, 'a': 2}
{1, 2} == {2, 1}, {1} != {1, 2}, {1: 2} == {1: 2, 3: 4}, {1: [2]} == {1: [2]}, {1: 2} == {2: 1}
[1, [2, (3,)]] == [1, [2, (3,)]], [1, 2] == [1], [1] == [1, 2], [] == (), [1] != [2]
[1, 2] <= [1, 2], [1, 2] < [1, 2], [1] < [1, 2], [1, 2] >= [1], (1, 'a') < (1, 'b'), (2,) > (1, 5), [] < [1]
[1] < (1,)
[1] < ['a']
{1} < {2: 1}
1 < 2 > 1 == 1 != 2, 1 < 1 < 5 / 0
1 <= 1 <= 1, 1 >= 1 >= 2, 3 > 2 >= 2, 1 != 1
1 in (1, 2), 'b' in {'a': 1}, 2 in {1, 2}, 2 not in [1], (1,) in [(1,)], 'ab' in 'cab', 'ba' in 'cab', 'abc' in 'ab'
1 in 'a'
[] in {1: 2}
1 is 1 if None is None else 2
(1 if 1 > 2 else 2) + (3 if 'a' else 4)
1 or 1 / 0, 0 and 1 / 0, 0 or 0.0 or '', 1 and 2 and 3, 1 and 0 and 1 / 0, '' or [] or 3
not 1 and 0, not (1 and 0), not not 5, not 1 or 1
2 + 3 * 4 ** 2 / 8 - 1, 2 ** 3 ** 2, (2 ** 3) ** 2, -3 ** 2, 2 ** -2, 10 - 4 - 3, 100 / 10 / 2, 7 // 2 * 2
7 * 2 // 3
8 / 4 * 2
2 + 3 * 4 - 5
8 / 2 // 3, 9 % 5 // 2, 9 // 2 % 3, 7 // 2 / 2, 2 - 3 + 4
1 + 2 < 4 and 6 / 2 == 3, 5 % 3 + 1, 5 | 2 ^ 3 & 1, 1 | 0 == 1, 6 ^ 3, 12 & 10 | 1
-7 // 2, 7 // -2, -7 // -2, -7 % 3, 7 % -3, -7 % -3, 6 // 3, -6 // 3, -6 % 3, 0 // 5, 0 % -5
8.48547 // 0.7, 553.201 // 0.3, 40607.7 // 0.179, -8.48547 // 0.7
6 & 3 + 1, 1 + 2 & 6, 5 & 3 | 4, 6 ^ 3 & 1, 6 ^ 3 + 1, 1 | 6 ^ 2
-7.5 // 2, 7.5 // -2, 7.5 % -2, -7.5 % 2, 6.0 // 3, -6.0 % 3, 5.5 % 5, 1e300 // 1e-10
5.0 // 0
5.0 % 0
5 % 0.0
0.0 ** -1
0 ** 0, (-8) ** 2, (-2) ** 3, 2.0 ** 3, 4 ** 0.5, 1 ** 1000, 2 ** 10, (-1) ** 5, True ** 2
2 ** 62, 2 ** 63 > 1, 3 ** 39, -(2 ** 62)
9223372036854775807 + 0, -9223372036854775807 - 1, 9223372036854775806 + 1
1.5 + True, True + True, True - 1, False / 1, 7 / True
True & 1, 5 & True, 1 | True
1 & 1.0
True * 5
4611686018427387904 * 1
'a' - 'b'
[1] - [1]
{1} + {2}
[1] + [], 'a' + '', (1,) + (2, 3), () + ()
(1,) + [2]
None + 1
-'a'
-[1]
+True, -2.5, - - 2, +-2, --2, not -1
1e3, 1E3, 1.e2, .5, 5., 1_0.0_1, 0.0, 1e-3, 0, 1e+2
07
1e
1.2.3
1a
'a\\'b', "a\\"b", '\\\\', '\\t\\x41\\n\\r', '\\u00e9', '\\101', '\\0'
'\\x4'
r'\\n'
""
'
'a' "b" 'c' + 'd'
((((1))))
[1, 2,], (1, 2,), {1: 2,}, {1, 2,}, min(1, 2,), (1,)[0]
(,)
[,]
[1,,2]
{1: 2, 3}
{1, 2: 3}
min(1 2)
min(1,,2)
(1, 2
[1, 2
{1: 2
)
1 2
1 if 2
1 if 2 else
if 1: 2
not
1 not 2
1 in
1 not in
is 1
a
a.b
None.get('a')
{}.pop(1)
True = 1
1 == = 1
1 =! 2
1 <> 2
1 && 2
@
1; 2
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
dict({}, {})
list([], [])
set([], [])
tuple((), ())
float(1, 1)
bool(1, 1)
int(1, 1)
str('a', 'b')
abs(1, 1)
len([], [])
all([], [])
any([], [])
sum([1], [1])
sorted([], [])
isinstance(1, int, int)
math.isclose(1, 1, 1)
math.log(8, 2, 2)
math.pow(2, 2, 2)
math.floor(1, 1)
'a'.lower('a')
'a'.startswith()
{}.get()
{}.get(1, 2, 3)
{}.update({}, {})
[1].count(1, 1)
[].extend([], [])
type()
1 & 2 + 3, 6 & 5 - 1, 1 ^ 2 + 3, 4 | 1 - 1, 2 + 3 & 1
5 - 2 * 3, 7 - 6 / 2, 9 - 7 % 4, 8 - 7 // 2, 5 + 7 % 4, 8 + 7 // 2, 9 + 6 / 4, 2 - 3 ** 2
1 | 2 & 4, 1 | 3 ^ 2, 7 ^ 1 | 4, 4 & 6 ^ 3, 1 == 1 | 2, 3 & 1 == 1, 2 ^ 2 < 1
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
s['x'] = 1;
s['x'] = 1;; s['y'] = 2
s['x'] = 1 s['y'] = 2
s['x'] = [1, 2]; s['x'][0] = 5; s['x'][-1] = 6
s['x'] = [1]; s['x'][1] = 2
s['x'] = [1]; s['x'][-2] = 2
s['x'] = [1, 2]; s['x'][True] = 3; s['x'][0] += 4
s['x'] = [1]; s['x']['a'] = 2
s['x'] = 'ab'; s['x'][0] = 'c'
s['x'] = {'a': {'b': 1}}; s['x']['a']['b'] += 1; s['x']['c'] = [s['x']['a']]
s['x'] = {[]: 1}
s[[]] = 1
s[(1, 2)] = 3; s[1] = 4; s[1.0] = 5; s[True] = 6
s['x'] = 7; s['x'] %= 4; s['x'] += 0.5
s['x'] = 6; s['x'] |= 1; s['x'] &= 5; s['x'] ^= 2
s['x'] = 'a'; s['x'] += 'b'
s['x'] = [1]; s['y'] = s['x']; s['x'] += [2]
s['x'] = [1]; s['y'] = s['x']; s['x'] = s['x'] + [2]
s['x'] = (1,); s['y'] = s['x']; s['x'] += (2,)
s['x'] = [1]; s['x'] += 'ab'; s['x'] += {'k': 1}; s['x'] += (5, 6)
s['x'] = [1]; s['x'] += 5
s['x'] = [1]; s['x'].extend('ab'); s['x'].extend({'k': 1})
s['x'] = [1]; s['x'].extend(5)
s['x'] = [1]; s['x'].append()
s['x'] = [1]; s['x'].append(1, 2)
s['x'] = [1]; s['x'].append(s['x'].count(1))
s.update({'a': 1}); s.update({'a': 2, 'b': 3}); s['l'] = list(s.keys())
s.update(5)
s['d'] = {'a': 1}; s['e'] = dict(s['d']); s['e']['a'] = 2
s['l'] = [1]; s['m'] = list(s['l']); s['m'].append(2)
s['d'] = {'b': 1}; s['d']['a'] = 2; s['d']['b'] = 3; s['l'] = list(s['d'].items())
a = 1; b = a + 1; a = 5; s['x'] = [a, b]
a = 1; a += 2; s['x'] = a
a += 1
a = [1]; b = a; b.append(2); s['x'] = a
1 = a
a.b = 1
a = 5; a.value = 1
a = 5; a['x'] = 1
None = 1
min = 1
if 1 > 2: s['x'] = 1\\nelse: s['x'] = 2
if 0: s['x'] = 1\\nelif 0: s['x'] = 2\\nelif 1: s['x'] = 3\\nelif 1: s['x'] = 4
if 0: s['x'] = 1\\nelif 0: s['x'] = 2
if 1:\\n    if 0:\\n        s['x'] = 1\\n    else:\\n        s['x'] = 2\\n    s['y'] = 3\\ns['z'] = 4
if 1:\\n    s['x'] = 1\\n  s['y'] = 2
if 1:\\ns['x'] = 1
if 1:
if 1: s['x'] = 1; s['y'] = 2\\ns['z'] = 3
if 0: s['x'] = 1; s['y'] = 2\\ns['z'] = 3
if 1 s['x'] = 1
else: s['x'] = 1
if 1:\\n\\ts['x'] = 1\\n\\ts['y'] = 2
if 1:\\n    s['x'] = 1\\n\\n    # a comment\\n    s['y'] = 2
for i in []: s['x'] = i
for i in [1, 2]: pass\\ns['i'] = i
for i in [1, 2]:\\n    for j in (3, 4):\\n        s[(i, j)] = i * j
for i in 5: s['x'] = 1
for i in range(3): s['x'] = i; s['y'] = i * 2
for i in range(2):\\n    i = 5\\n    s['x'] = i
for i in [1, 2]\\n    s['x'] = i
s['l'] = [1, 2]\\nfor i in s['l']:\\n    s['x'] = i
s['d'] = {'a': 1, 'b': 2}\\nfor k in s['d'].keys(): s[k] = s['d'][k]
for v in {'a': 5}.values(): s['x'] = v
for c in 'aé': s[c] = len(c)
from math import ceil; s['x'] = ceil(1.5)
from math import nothing
from dataclasses import nothing
from math import pi; s['x'] = pi > 3
import math\\ns['x'] = math.e > 2.7
s['x'] = math.inf\\ns['y'] = -math.inf
s['x'] = \\\\\\n    1
s['x'] = (1 +\\n  2)
s['x'] = {\\n  'a': 1,  # one\\n  'b': 2}
s['x'] = 1 +
 s['x'] = 1
s['x'] = 1\\n\\n\\ns['y'] = 2
del s['x']
return 1
s['x'] == 1
s['x'] = 'a' 'b'
s['x'] = 1 if s.get('y') else 2
s['x'] = s.get('n', 0) + 1; s['x'] = s.get('x', 0) + 1
print(1); s['x'] = print('a')
d = {}\\nfor i in range(100): d[i] = i + 1\\ns['x'] = [d[0], d[1], d[98], d[99], d.get(100), 0 in d, -1 in d, len(d)]
d = {}\\nfor i in range(100): d[str(i)] = i + 1\\ns['x'] = [d['0'], d['1'], d['98'], d['99'], d.get('100'), '0' in d, len(d)]
""".split("\n")[:-1]

JSON = """true
false
null
0
-0
-12
9223372036854775807
-9223372036854775808
9223372036854775808
123456789012345678901234567890
1.5
-0.0
1e3
1E-3
2.5e+10
1e400
-1e400
1e-400
""
"a b"
"it's"
"\\"q\\" \\\\ \\/ \\t \\u0041\\u00e9 \\ud835\\udfd2"
"\\u00E9\\u00C9\\uABCD\\uD835\\uDFD2"
[]
[ ]
[true]
[true, false, null]
[true,false,null,1]
[[], [[]], {}, [1, 2.5, "x"]]
[ 1 , 2 ]
{}
{ }
{"a": true}
{"a": true, "b": false, "c": null, "d": 1}
{"a":1,"b":[1,{"c":"d"}],"e":{"f":{}}}
{ "a" : 1 , "b" : "}" , "c" : [ "]" ] }
{"a": 1, "a": 2}
{"": -1, "x y": 1.0, "\\u0041": 0}
{"a": 1.5, "b": 12345678901234567890}""".split("\n")


def quotients():
    """Pairs of integers as JSON: rounding to even, subnormal results, too large ones, and random ones of any length."""
    ten, two = 10**401, 2**1074
    pairs = [(1, ten), (-1, ten), (ten, 10**400), (ten, -3 * 10**400), (0, ten), (0, -ten), (0, -5), (ten, 0), (ten, 1),
             (10**4299, 10**4298 + 1), (7, 10**4299), (1, two), (1, 2 * two), (3, 2 * two), (5, 2 * two), (-3, 4 * two),
             (2**1024, 1), (2**1024 - 2**970, 1), (2**1024 - 2**970 - 1, 1), (2**2048 - 1, 2**1024), (1, True), (True, ten),
             (2**53 + 1, 1), (2**53 + 3, 1), (2**63 - 1, 3), (-2**63, -1), (2**63, 2**63), (2**64 + 2**11, 1), (2**64 + 2**11 + 1, 1)]
    rng = random.Random(1)

    def number():
        return rng.choice([-1, 1]) * rng.getrandbits(rng.choice([20, 60, 64, 100, 500, 1070, 1400, 4000]))
    pairs += [(number(), number()) for _ in range(300)]
    return [json.dumps(pair) for pair in pairs]


def is_tuple(code):
    try:
        return isinstance(ast.parse(code, mode="eval").body, ast.Tuple) and not code.startswith("(")
    except SyntaxError:
        return False


def run(kind, code):
    s = {}
    scope = {"is_integer": is_integer, "math": math, "s": s}
    try:
        if kind == "divide":
            a, b = json.loads(code)
            return repr(a / b)
        if kind == "order":
            a, b = json.loads(code)
            return repr([a < b, a == b, a > b])
        if kind == "float":
            return repr(float(json.loads(code)))
        if kind == "json":
            return repr(json.loads(code))
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
    lines += [("eval", f"{function}({values})") for function in FUNCTIONS for values in ["", "1, 2, 3, 4", *VALUES]
              if (function, values) not in [("dict", "''"), ("dict", "[]")]]
    lines += [("eval", f"{function}({a}, {b})") for function in PAIRS for a in VALUES for b in VALUES]
    lines += [("eval", f"({value}).{method}({arguments})") for value in VALUES for method in METHODS
              for arguments in ["", "1", "'a'", "[1]", "{'a': 2}", "1, 2, 3"]]
    lines += [("exec", code) for code in EXEC]
    lines += [("json", code) for code in JSON]
    lines += [("divide", code) for code in quotients()]
    lines += [("order", code) for code in quotients()]
    lines += [("float", str(sign * integer)) for sign in [1, -1] for integer in [2**63 + 1, 10**20, 10**308, 10**309]]
    with open("tests/golden/compliance/rule_language.tsv", "w") as out:
        for kind, code in lines:
            out.write(f"{kind}\t{code}\t" + run(kind, code.replace("\\n", "\n")).replace("\n", "\\n") + "\n")


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")
    main()
