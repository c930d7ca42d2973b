#include "compliance/language/rule_evaluator.h"

#include <deque>
#include <fstream>

#include "compliance/language/parser/rule_parser.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

constexpr uint64_t kSteps = 1'000'000;

// Returns the repr() of a JSON text's value, of one integer divided by another or compared to it,
// of an expression's value or of the state after statements, or ERROR if the code raises or does
// not compile.
std::string run(const std::string& kind, const std::string& code) {
  Fragment fragment;
  Heap heap(256u << 20, kSteps);
  RuleHost host;
  host.enqueue_config = [](std::string_view) {};
  Evaluator evaluator(heap, host);
  try {
    if (kind == "json") return to_repr(value_from_json(code, heap));
    const auto locals = std::make_shared<Locals>();
    if (kind == "divide" || kind == "order" || kind == "float") {
      evaluator.set_line(value_from_json("{\"value\": " + code + "}", heap), heap.line());
      fragment = compile_expression(
          kind == "float"    ? "float(v['value'])"
          : kind == "divide" ? "v['value'][0] / v['value'][1]"
                             : "[v['value'][0] < v['value'][1], v['value'][0] == v['value'][1], "
                               "v['value'][0] > v['value'][1]]",
          FragmentPlace::kLine, locals);
      return to_repr(evaluator.value_of(fragment));
    }
    if (kind == "eval") {
      fragment = compile_expression(code, FragmentPlace::kEnd, locals);
      return to_repr(evaluator.value_of(fragment));
    }
    fragment = compile_statements(code, FragmentPlace::kEnd, locals);
    evaluator.execute(fragment);
    return to_repr(evaluator.state());
  } catch (const RuleError&) {
    return "ERROR";
  } catch (const SyntaxFault&) {
    return "ERROR";
  }
}

std::string unescape(std::string text) {
  for (size_t at = 0; (at = text.find("\\n", at)) != text.npos; ++at) text.replace(at, 2, "\n");
  return text;
}

// Returns whether the language deliberately lacks this, so that the answer differs from Python's.
bool is_left_out(const std::string& code) {
  return code == "s['a'] = s['b'] = 1" ||  // chained assignment
         code == "{'a':1} | {'a':1}" || code.find("'abc' %") != code.npos ||
         code.find("'' %") != code.npos ||  // formatting with %
         code.find("9223372036854775807 *") != code.npos ||
         code.find("* 9223372036854775807") != code.npos;
}

// Returns whether Python's answer differs: sequences times integers, and integers beyond 64 bits,
// which become floats.
bool is_beyond(const std::string& code, const std::string& expected) {
  if (expected.size() > 18 && expected.find_first_not_of("-0123456789") == expected.npos)
    return true;
  const bool sequence =
      code.find('[') != code.npos || code.find('(') != code.npos || code.find('\'') != code.npos;
  return sequence && code.find(" * ") != code.npos && code.find("**") == code.npos;
}

// Python is the oracle: tests/golden/compliance/rule_language.py.
TEST(RuleEvaluator, AgreesWithPython) {
  std::ifstream golden(std::string(STRATA_SOURCE_DIR) +
                       "/tests/golden/compliance/rule_language.tsv");
  ASSERT_TRUE(golden.is_open());
  size_t count = 0;
  size_t differ = 0;
  for (std::string line; std::getline(golden, line);) {
    const size_t first = line.find('\t');
    const size_t second = line.rfind('\t');
    const std::string kind = line.substr(0, first);
    const std::string code = unescape(line.substr(first + 1, second - first - 1));
    const std::string expected = line.substr(second + 1);
    if (is_left_out(code) || is_beyond(code, expected)) continue;
    ++count;
    const std::string result = run(kind, code);
    if (result == expected) continue;
    if (++differ < 40)
      ADD_FAILURE() << kind << " " << code << "\n  Python: " << expected
                    << "\n  Strata: " << result;
  }
  EXPECT_EQ(differ, 0u);
  EXPECT_GT(count, 5000u);
}

std::string fault(const std::string& code, bool expression = true) {
  try {
    const auto locals = std::make_shared<Locals>();
    expression ? compile_expression(code, FragmentPlace::kLine, locals)
               : compile_statements(code, FragmentPlace::kLine, locals);
    return "";
  } catch (const SyntaxFault& at) {
    return std::to_string(at.line) + ":" + std::to_string(at.column) + " " + at.reason;
  }
}

TEST(RuleParser, UnsupportedSyntaxIsRefusedWithItsPlace) {
  EXPECT_EQ(fault("v['value'][1:2]"), "1:13 slices are not supported");
  EXPECT_EQ(fault("[x for x in v]"), "1:4 comprehensions are not supported");
  EXPECT_EQ(fault("lambda: 1"), "1:1 'lambda' is not supported");
  EXPECT_EQ(fault("open('/etc/passwd')"), "1:1 the name 'open' is not available here");
  EXPECT_EQ(fault("v.__class__"), "1:3 attribute '__class__' is not supported");
  EXPECT_EQ(fault("f'{v}'"), "1:2 string prefix 'f' is not supported");
  EXPECT_EQ(fault("'''a'''"), "1:1 triple-quoted strings are not supported");
  EXPECT_EQ(fault("math.gamma(1)"), "1:6 'math.gamma' is not supported");
  EXPECT_EQ(fault("loglines"), "1:1 the name 'loglines' is not available here");
  EXPECT_EQ(fault("v['value'] > "), "1:13 a value was expected, found the end of the line");
  EXPECT_EQ(fault("1\n2"), "2:1 an expression must stand on one line");
  EXPECT_EQ(fault("~1"), "1:1 '~' is not supported");
  EXPECT_EQ(fault("1 << 2"), "1:3 '<<' is not supported");
  EXPECT_EQ(fault("1 $ 2"), "1:3 unexpected character '$'");
  EXPECT_EQ(fault("0x10"), "1:2 this form of number is not supported");
  EXPECT_EQ(fault("1if v else 2"), "1:2 this form of number is not supported");
  EXPECT_EQ(fault("min(*v)"), "1:5 unpacking is not supported");
  EXPECT_EQ(fault("round(1, ndigits=2)"), "1:10 the name 'ndigits' is not available here");
  EXPECT_EQ(fault("while True: pass", false), "1:1 'while' is not supported");
  EXPECT_EQ(fault("import os", false), "1:1 importing 'os' from 'os' is not supported");
  EXPECT_EQ(fault("def f(): pass", false), "1:1 'def' is not supported");
  EXPECT_EQ(fault("s['a'], s['b'] = 1, 2", false), "1:7 unexpected ','");
  EXPECT_EQ(fault("s['a'] = 1\n  s['b'] = 2", false).substr(0, 2), "2:");
  EXPECT_EQ(fault("min(1) = 2", false), "1:1 assignment to this expression is not possible");
}

TEST(RuleParser, NestingIsBounded) {
  const std::string open(10'000, '(');
  EXPECT_NE(fault(open + "1" + std::string(10'000, ')')), "");
  std::string chain = "1";
  for (int i = 0; i < 100'000; ++i) chain += "+1";
  EXPECT_NE(fault(chain), "");
  std::string nots;
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  EXPECT_NE(fault(nots + "1"), "");
  EXPECT_NE(fault(std::string(100'000, '-') + "1"), "");
  std::string ternary = "1";
  for (int i = 0; i < 10'000; ++i) ternary += " if 1 else 1";
  EXPECT_NE(fault(ternary), "");
  std::string blocks;
  for (int i = 0; i < 1000; ++i) blocks += std::string(static_cast<size_t>(i), ' ') + "if 1:\n";
  EXPECT_NE(fault(blocks, false), "");
}

// Tests the limits in docs/compliance.md, and one beyond them.
TEST(RuleParser, NestingMayReachItsLimits) {
  const auto repeated = [](int count, const std::string& text) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  const auto brackets = [&](int count) {
    return repeated(count, "(") + "1" + repeated(count, ")");
  };
  EXPECT_EQ(fault(brackets(100)), "");
  EXPECT_THAT(fault(brackets(101)), HasSubstr("brackets are nested too deeply"));
  const auto levels = [&](int count) { return "1" + repeated(count - 1, "+1"); };
  EXPECT_EQ(fault(levels(120)), "");
  EXPECT_THAT(fault(levels(121)), HasSubstr("nested too deeply"));
  const auto signs = [&](int count) { return repeated(count - 1, "- ") + "v"; };
  EXPECT_EQ(fault(signs(120)), "");
  EXPECT_THAT(fault(signs(121)), HasSubstr("nested too deeply"));
  const auto blocks = [&](int count) {
    std::string code;
    for (int i = 0; i < count; ++i) code += repeated(i, " ") + "if 1:\n";
    return code + repeated(count, " ") + "pass\n";
  };
  EXPECT_EQ(fault(blocks(20), false), "");
  EXPECT_THAT(fault(blocks(21), false), HasSubstr("nested too deeply"));
}

// Depth counts in every part of an expression. 110 sums inside of twenty levels are too deep,
// although each of them alone is not.
TEST(RuleParser, NestingIsBoundedInEveryPartOfAnExpression) {
  for (const std::string part : {"min(X)",
                                 "min(1, X)",
                                 "min(X, 1)",
                                 "(X)(1)",
                                 "[X]",
                                 "[1, X]",
                                 "[X, 1]",
                                 "(X,)",
                                 "(1, X)",
                                 "{X}",
                                 "{1, X}",
                                 "{X: 1}",
                                 "{1: X}",
                                 "{1: 1, X: 1}",
                                 "{1: 1, 2: X}",
                                 "{X: 1, 2: 1}",
                                 "((X) if 1 else 1)",
                                 "(1 if X else 1)",
                                 "(1 if 1 else X)",
                                 "((X) and 1)",
                                 "(1 and X)",
                                 "(1 or X or 1)",
                                 "(not X)",
                                 "-(X)",
                                 "((X) < 1)",
                                 "(1 < X)",
                                 "(1 < (X) < 1)",
                                 "(1 in X)",
                                 "((X) in 1)",
                                 "((X) in (1, 2))",
                                 "((X) + 1)",
                                 "(1 * (X))",
                                 "((X) ** 1)",
                                 "(1 ** (X))",
                                 "v[X]",
                                 "(X)[1]",
                                 "(X).value"}) {
    const auto nested = [&](std::string code) {
      for (int i = 0; i < 20; ++i) {
        std::string around = part;
        code = around.replace(around.find('X'), 1, code);
      }
      return code;
    };
    std::string sum = "1";
    for (int i = 0; i < 110; ++i) sum += "+1";
    EXPECT_EQ(fault(sum), "");
    EXPECT_EQ(fault(nested("1")), "") << part;
    EXPECT_THAT(fault(nested(sum)), HasSubstr("nested too deeply")) << part;
  }
}

// Runs `code` as statements until it ends or a budget stops it.
void expect_stopped(const std::string& code) {
  const Fragment fragment =
      compile_statements(code, FragmentPlace::kEnd, std::make_shared<Locals>());
  Heap heap(16u << 20, kSteps);
  RuleHost host;
  Evaluator evaluator(heap, host);
  EXPECT_THROW(evaluator.execute(fragment), RuleBudgetError) << code;
}

TEST(RuleEvaluator, HostileCodeIsStopped) {
  expect_stopped("for a in range(1000000):\n    for b in range(1000000): pass");
  expect_stopped("s['x'] = 'aaaaaaaa'\nfor i in range(100): s['x'] = s['x'] + s['x']");
  expect_stopped("s['x'] = [0]\nfor i in range(100): s['x'] += s['x']");
  expect_stopped("s['x'] = []\nfor i in range(100000): s['x'].append(range(1000))");
  expect_stopped("for i in range(1000000): s[i] = i");
}

// This looks like one step, but takes as many steps as there are paths through the value.
TEST(RuleEvaluator, WorkInsideAValueIsCharged) {
  const std::string lists =
      "for i in range(50): s['x'] = [s['x'], s['x']]; s['y'] = [s['y'], s['y']]\n";
  const std::string start = "s['x'] = [1]; s['y'] = [1]\n";
  expect_stopped(start + lists + "s['x'] == s['y']");
  expect_stopped(start + lists + "s['x'] != s['y']");
  expect_stopped(start + lists + "s['x'] in [s['y']]");
  expect_stopped(start + lists + "[s['y']].count(s['x'])");
  expect_stopped(start + lists + "[s['x'], 1] < [s['y'], 1]");
  const std::string tuples = "s['x'] = (1, 2)\nfor i in range(50): s['x'] = (s['x'], s['x'])\n";
  expect_stopped(tuples + "s['d'] = {}; s['d'][s['x']] = 1");
  expect_stopped(tuples + "s['d'] = {s['x']}");
  expect_stopped(tuples + "s['x'] in {'a': 1}");
  const std::string dicts =
      "s['x'] = {'a': 1}; s['y'] = {'a': 1}\n"
      "for i in range(50): s['x'] = {'a': s['x'], 'b': s['x']}; s['y'] = {'a': s['y'], 'b': "
      "s['y']}\n";
  expect_stopped(dicts + "s['x'] == s['y']");
}

// Every element takes a step, in lists and dictionaries of 1000.
TEST(RuleEvaluator, LoopsInsideBuiltinsAreCharged) {
  const std::string thousand =
      "s['l'] = list(range(1000)); s['m'] = list(range(1000)); s['d'] = {}\n"
      "for i in range(1000): s['d'][i] = 1\n";
  for (const char* line :
       {"-1 in s['l']", "s['l'].count(1)", "sum(s['l'])", "all(s['m'])", "any(s['l'])",
        "min(s['l'])", "max(s['d'])", "list(s['l'])", "set(s['d'])", "sorted(s['l'])",
        "s['l'] == s['m']", "s['l'] <= s['m']", "s['d'].update(s['d'])", "s['d'].keys()",
        "s['d'].items()", "s['l'] + s['m']", "range(1000)", "s['d'] == dict(s['d'])"}) {
    expect_stopped(thousand + "for i in range(4000): " + line);
  }
}

// A loop over events is charged even if reading the events costs nothing.
TEST(RuleEvaluator, LoopsOverEventsAreCharged) {
  Heap heap(16u << 20, kSteps);
  const Value line = heap.line();
  RuleHost host;
  host.visit_events = [&](const std::function<void(const Value&)>& visit) {
    for (int i = 0; i < 1000; ++i) visit(line);
  };
  Evaluator evaluator(heap, host);
  const auto loop = [&](const std::string& times) {
    evaluator.execute(
        compile_statements("for i in range(" + times + "):\n  for line in loglines: pass",
                           FragmentPlace::kBegin, std::make_shared<Locals>()));
  };
  EXPECT_NO_THROW(loop("10"));
  EXPECT_THROW(loop("4000"), RuleBudgetError);
}

TEST(RuleEvaluator, LongTextsAreCharged) {
  // Two equal texts of 1 MiB that are not one object.
  const std::string texts =
      "s['x'] = 'aaaaaaaa'; s['y'] = 'aaaaaaaa'\n"
      "for i in range(17): s['x'] += s['x']; s['y'] += s['y']\n";
  for (const char* line :
       {"s['x'] == s['y']", "s['x'] < s['y']", "s['x'] in [s['y']]", "str(s['x'])", "len(s['x'])",
        "s['x'].startswith(s['y'])", "s['y'] in s['x']", "'{}'.format(s['x'])", "s['x'].lower()",
        "[s['x']] == [s['y']]", "max(s['x'], s['y'])"}) {
    expect_stopped(texts + "for i in range(2000): " + line);
  }
  expect_stopped(
      "s['x'] = '11111111'\nfor i in range(17): s['x'] += s['x']\n"
      "for i in range(2000): float(s['x'])");
  // Quadratic for a naive search.
  expect_stopped(texts + "s['y'] = s['y'] + 'b'\nfor i in range(2000): s['y'] in s['x'] + s['x']");
  // A number may have as many digits as a number in a log.
  for (const char* line : {"v == v", "v < v", "[v] == [v + 0 if 0 else v]", "max(v, v)"}) {
    Heap heap(16u << 20, kSteps);
    RuleHost host;
    Evaluator evaluator(heap, host);
    evaluator.set_line(value_from_json(std::string(4000, '7'), heap), Value());
    const Fragment fragment = compile_statements("for i in range(10000): " + std::string(line),
                                                 FragmentPlace::kLine, std::make_shared<Locals>());
    EXPECT_THROW(evaluator.execute(fragment), RuleBudgetError) << line;
  }
}

TEST(RuleEvaluator, EveryPartOfAnExpressionIsCharged) {
  std::string sum = "1";
  for (int i = 0; i < 110; ++i) sum += "+1";
  expect_stopped("for i in range(9000): " + sum);
}

TEST(RuleEvaluator, UnusedValuesAreNotCharged) {
  const std::string text(100, 'a');
  const Fragment fragment = compile_statements("for i in range(9000):\n    s['x'] = '" + text +
                                                   "' + 'b'\n    s['y'] = [i, [i]]\n" +
                                                   "    s['z'] = {i: (i,)}\ns['x'] = len(s['x'])",
                                               FragmentPlace::kEnd, std::make_shared<Locals>());
  Heap heap(1u << 20, kSteps);  // bytes; 9000 texts alone take as many
  RuleHost host;
  Evaluator evaluator(heap, host);
  evaluator.execute(fragment);
  EXPECT_EQ(to_repr(evaluator.state()), "{'x': 101, 'y': [8999, [8999]], 'z': {8999: (8999,)}}");
}

TEST(RuleEvaluator, DigitsAreCharged) {
  for (const char* line : {"round(1e300, 300)", "int(1e300)", "math.floor(1e300)"})
    expect_stopped("for i in range(5000): " + std::string(line));
}

TEST(RuleEvaluator, EventsAreChargedByTheirLength) {
  Heap heap(64u << 20, kSteps);
  RuleHost host;
  Evaluator evaluator(heap, host);
  Value line = heap.line();
  line.line().full_string = std::string(1 << 20, 'x');
  evaluator.set_line(Value(), line);
  const Fragment fragment = compile_statements("for i in range(1000): ll.full_string",
                                               FragmentPlace::kLine, std::make_shared<Locals>());
  EXPECT_THROW(evaluator.execute(fragment), RuleBudgetError);
}

TEST(RuleParser, NamesAreBounded) {
  std::string code;
  for (int i = 0; i < 1000; ++i) code += "a" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(fault(code, false), "");
  code += "another = 1\n";
  EXPECT_THAT(fault(code, false), HasSubstr("too many names"));
}

TEST(RuleEvaluator, CyclesAndDepthAreBounded) {
  EXPECT_EQ(run("exec", "s['s'] = s; s['l'] = []; s['l'].append(s['l'])"),
            "ERROR");  // repr of a cycle is too deep
  EXPECT_EQ(run("exec", "s['x'] = []\nfor i in range(5000): s['x'] = [s['x']]\ns['x'] = 1"),
            "{'x': 1}");
  EXPECT_EQ(run("eval", "10 ** 100000"), "ERROR");
}

// Values may be inside of 600 others (docs/compliance.md); JSON ends at 500.
TEST(RuleEvaluator, ValuesMayNestToTheirLimit) {
  const auto result = [](int depth, const std::string& code) {
    return run("exec", "s['x'] = (); s['y'] = ()\nfor i in range(" + std::to_string(depth) +
                           "): s['x'] = (s['x'],); s['y'] = (s['y'],)\ns['z'] = " + code +
                           "\ns['x'] = 0; s['y'] = 0");
  };
  for (const auto& [code, value] :
       {std::pair("len(str(s['x']))", "1802"), std::pair("s['x'] == s['y']", "True"),
        std::pair("len({s['x']})", "1")}) {
    EXPECT_EQ(result(600, code), "{'x': 0, 'y': 0, 'z': " + std::string(value) + "}") << code;
    EXPECT_EQ(result(601, code), "ERROR") << code;
  }
}

TEST(RuleEvaluator, RuleCodeCanReadTheLogLine) {
  Heap heap(256u << 20, kSteps);
  RuleHost host;
  std::string enqueued;
  host.enqueue_config = [&](std::string_view name) { enqueued = name; };
  Evaluator evaluator(heap, host);
  Value v = value_from_json(R"({"value": "open", "metadata": {"epoch_num": 3}})", heap);
  Value line = heap.line();
  line.line().timestamp = 12.5;
  line.line().value = v;
  evaluator.set_line(v, line);
  const auto check = [&](const char* code) {
    return evaluator.check(
        compile_expression(code, FragmentPlace::kLine, std::make_shared<Locals>()));
  };
  EXPECT_TRUE(check("v['value'] == 'open' and ll.timestamp == 12.5 and ll.value is v"));
  EXPECT_TRUE(check("'epoch_num' in v['metadata'] and 'step' not in v['metadata']"));
  evaluator.execute(compile_statements("enqueue_config('training/{}.yaml'.format(v['value']))",
                                       FragmentPlace::kLine, std::make_shared<Locals>()));
  EXPECT_EQ(enqueued, "training/open.yaml");
}

TEST(RuleEvaluator, ATimeLimitIsEvaluatedOnlyWithoutSideEffects) {
  std::deque<Fragment> fragments;  // own the strings that the state holds
  Heap heap(256u << 20, kSteps);
  RuleHost host;
  Evaluator evaluator(heap, host);
  Value line = heap.line();
  line.line().timestamp = 12.5;
  evaluator.set_line(Value::of_int(3), line);
  evaluator.execute(fragments.emplace_back(
      compile_statements("s.update({'start': 2, 'limits': [7, 8], 'seen': []})",
                         FragmentPlace::kLine, std::make_shared<Locals>())));
  const auto time_and_limit = [&](const char* code) {
    return evaluator.time_and_limit(fragments.emplace_back(
        compile_expression(code, FragmentPlace::kLine, std::make_shared<Locals>())));
  };
  EXPECT_EQ(time_and_limit("ll.timestamp - s['start'] < s['limits'][1]"), std::pair(10.5, 8.0));
  EXPECT_EQ(time_and_limit("ll.timestamp - s['start'] <= v + 1"), std::pair(10.5, 4.0));
  for (const char* changes : {"ll.timestamp - s['start'] < s['limits'][s['seen'].append(1) or 0]",
                              "ll.timestamp - s['start'] < [s['seen'].append(1)][0] or 1",
                              "ll.timestamp - s['start'] < 1 + (s['seen'].append(1) or 0)",
                              "ll.timestamp - (s['seen'].append(1) or 0) < 1"}) {
    EXPECT_EQ(time_and_limit(changes), std::nullopt) << changes;
    EXPECT_EQ(to_repr(evaluator.state()), "{'start': 2, 'limits': [7, 8], 'seen': []}") << changes;
  }
  // These are not a time with an upper limit, or cannot be evaluated.
  for (const char* other : {"ll.timestamp - s['start'] > 1", "ll.lineno - s['start'] < 1",
                            "ll.timestamp + s['start'] < 1", "ll.timestamp - s['none'] < 1",
                            "1 < ll.timestamp - s['start'] < 2", "v < 1"}) {
    EXPECT_EQ(time_and_limit(other), std::nullopt) << other;
  }
}

TEST(RuleEvaluator, RuleCodeChangesACopyOfTheLine) {
  std::deque<Fragment> fragments;  // own the strings that the state holds
  Heap heap(256u << 20, kSteps);
  RuleHost host;
  Evaluator evaluator(heap, host);
  Value line = heap.line();
  line.line().key = "seed";
  line.line().full_string = "text";
  line.line().timestamp = 12.5;
  line.line().lineno = 7;
  line.line().value = Value::of_int(3);
  evaluator.set_line(line.line().value, line);
  const auto run_code = [&](const std::string& code) {
    evaluator.execute(fragments.emplace_back(
        compile_statements("from dataclasses import replace; " + code, FragmentPlace::kLine,
                           std::make_shared<Locals>())));
    return to_repr(evaluator.state());
  };
  EXPECT_EQ(run_code("s['l'] = [ll.key, ll.full_string, ll.timestamp, ll.lineno, ll.value]"),
            "{'l': ['seed', 'text', 12.5, 7, 3]}");
  EXPECT_EQ(run_code("c = replace(ll); c.key = 'k'; c.full_string = 'f'; c.timestamp = 2;"
                     "c.lineno = 1; c.value = [4]; s.update({'l': [c.key, c.full_string, "
                     "c.timestamp, c.lineno, c.value, ll.key, ll.lineno, ll.value]})"),
            "{'l': ['k', 'f', 2.0, 1, [4], 'seed', 7, 3]}");
  // A copy's texts are its own: here a key that is longer than the line.
  EXPECT_EQ(run_code("c = replace(ll); c.key = 'long'; c.full_string = ''; d = replace(c);"
                     "s.update({'l': [d.key, d.full_string]})"),
            "{'l': ['long', '']}");
  for (const char* wrong :
       {"ll.key = 1", "ll.full_string = []", "ll.timestamp = 'a'", "ll.lineno = 1.5", "ll.get = 1",
        "s['l'].key = 'k'", "replace(1)", "replace()", "replace(ll, ll)", "s['x'] = ll.append",
        "ll.append(1)", "ll['key']", "len(ll)", "enqueue_config(1)", "enqueue_config()"}) {
    EXPECT_THROW(run_code(wrong), RuleError) << wrong;
  }
}

}  // namespace
}  // namespace strata::compliance
