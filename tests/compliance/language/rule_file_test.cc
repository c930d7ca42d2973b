#include "compliance/language/rule_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "compliance/checks/check_log.h"
#include "compliance/sources/rule_store.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;

RuleFile compile(const std::string& text) {
  return compile_rule_file("test.yaml", text, [](const std::string&) {
    return std::string("- KEY: {NAME: included}\n");
  });
}

std::string error_of(const std::string& text) {
  try {
    compile(text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(RuleFile, RecordsAreReadAndTheLastOfAnyNameIsUsed) {
  const RuleFile file = compile(
      "- BEGIN: {CODE: \"s['a'] = 1\"}\n- KEY: {NAME: x, REQ: EXACTLY_ONE}\n- KEY: {NAME: y, REQ: "
      "AT_LEAST(2)}\n"
      "- KEY: {NAME: x, REQ: \"AT_LEAST_ONE_OR(y, z)\", CHECK: [\"1\", \"2\"]}\n- INCLUDE: "
      "other.yaml\n- END: {CHECK: \"True\"}\n");
  ASSERT_EQ(file.keys.size(), 3u);
  EXPECT_EQ(file.keys[0].name, "x");
  EXPECT_EQ(file.keys[0].requirement.alternatives, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(file.keys[0].checks.size(), 2u);
  EXPECT_EQ(file.keys[0].line, 4);
  EXPECT_EQ(file.keys[1].requirement.least, 2u);
  EXPECT_EQ(file.keys[2].name, "included");
  EXPECT_TRUE(file.begin.has_value());
  EXPECT_EQ(file.end_checks.size(), 1u);
}

TEST(RuleFile, KeysAreFoundByName) {
  std::vector<std::string> names = {"", "a", "seven77", "eight888", "eight889", "a_longer_name"};
  for (int i = 0; i < 100; ++i) names.push_back("opt_" + std::to_string(i) + "_name");
  KeyTable table;
  EXPECT_FALSE(table.find("a"));
  for (size_t i = 0; i < names.size(); ++i) table.insert(names[i], i);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.find(names[i]), i) << names[i];
  for (const char* absent : {"b", "eight88", "eight8888", "opt_100_name", "a_longer_nama"})
    EXPECT_FALSE(table.find(absent)) << absent;
}

// A failure reports the whole event, even if the code reads only a part of it.
TEST(RuleFile, AFindingShowsTheWholeEvent) {
  const std::string line =
      R"(:::MLLOG {"namespace": "", "time_ms": 1, "event_type": "E", "key": "k", "value": 7, "metadata": {"a": "b"}})";
  for (const char* check :
       {"s == 1", "v['value'] == 8", "v['metadata'] == 8", "1 / 0", "ll.lineno < 0"}) {
    TemporaryFolder folder;
    std::filesystem::create_directories(folder.path() / "training_2.0.0");
    write_file_atomically(folder.path() / "training_2.0.0/common.yaml",
                          fmt::format("- KEY: {{NAME: k, CHECK: \"{}\"}}\n", check));
    RuleStore rules(folder.path());
    const auto verdict =
        check_log(mllog::LogReader::from_text(line, "log"), rules, "training", "2.0.0");
    ASSERT_EQ(verdict.errors.size(), 1u) << check;
    EXPECT_TRUE(verdict.errors[0].found.starts_with("{'value': 7, 'metadata': {'a': 'b'}}"))
        << check << ": " << verdict.errors[0].found;
  }
}

TEST(RuleFile, UnknownSyntaxIsNamed) {
  EXPECT_THAT(error_of("- KEY: {NAME: k, CHECK: \"v[0:1]\"}"),
              HasSubstr("test.yaml:1: rule 'k', CHECK, line 1 column 4"));
  EXPECT_THAT(error_of("- KEY: {NAME: k, REQ: SOMETIMES}"), HasSubstr("unknown REQ 'SOMETIMES'"));
  EXPECT_THAT(error_of("- KEY: {NAME: k, REQ: AT_LEAST(x)}"), HasSubstr("holds no number"));
  EXPECT_THAT(error_of("- KEY: {REQ: EXACTLY_ONE}"), HasSubstr("no NAME"));
  EXPECT_THAT(error_of("- KEY: {NAME: k, CHEKC: \"1\"}"), HasSubstr("unknown field 'CHEKC'"));
  EXPECT_THAT(error_of("- BEGIN: {CODE: \"s\", CHECK: \"1\"}"),
              HasSubstr("BEGIN has an unknown field 'CHECK'"));
  EXPECT_THAT(error_of("- END: {CODE: \"s\"}"), HasSubstr("END has an unknown field 'CODE'"));
  EXPECT_THAT(error_of("- KEYS: {NAME: k}"), HasSubstr("unknown record 'KEYS'"));
  EXPECT_THAT(error_of("- BEGIN: {CODE: a}\n- BEGIN: {CODE: a}"), HasSubstr("a"));
  EXPECT_THAT(error_of("a: 1"), HasSubstr("a list"));
  EXPECT_THAT(error_of("- ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("- KEY: {NAME: k, CHECK: \"\"}"), HasSubstr("the code is empty"));
}

TEST(RuleFile, AnEmptyFileIsAnError) {
  for (const char* text : {"", "# only a comment\n", "---\n", "~\n", "[]\n"}) {
    EXPECT_THAT(error_of(text), HasSubstr("test.yaml: holds no rule")) << text;
  }
  const auto include = [] {
    compile_rule_file("test.yaml", "- INCLUDE: inner.yaml\n",
                      [](const std::string&) { return std::string(); });
  };
  EXPECT_THROW(include(), Error);
}

TEST(RuleFile, IncludesCannotRunAway) {
  const auto self = [](const std::string&) { return std::string("- INCLUDE: self.yaml\n"); };
  EXPECT_THROW(compile_rule_file("self.yaml", "- INCLUDE: self.yaml\n", self), Error);
}

TEST(RuleFile, FiftyFilesMayBeIncluded) {
  const auto include = [](int files) {
    int left = files;
    const auto read = [&left](const std::string&) {
      return --left > 0 ? "- INCLUDE: next.yaml\n" : "- KEY: {NAME: last}\n";
    };
    return compile_rule_file("first.yaml", "- INCLUDE: next.yaml\n", read).keys.size();
  };
  EXPECT_EQ(include(50), 1u);
  EXPECT_THROW(include(51), Error);
}

// Aliases could make these small files very large.
TEST(RuleFile, RepetitionsByYamlAliasesAreCharged) {
  const auto refused = [](const std::string& text) {
    const std::string error = error_of(text);
    EXPECT_THAT(error, HasSubstr("too large when their YAML aliases are expanded"));
  };
  std::string code = "\"1";
  for (int i = 0; i < 100; ++i) code += "+(1";
  for (int i = 0; i < 100; ++i) code += ")";
  code += "\"";
  std::string checks = "- KEY: {NAME: a, CHECK: &c " + code + "}\n- KEY: {NAME: b, CHECK: [*c";
  for (int i = 0; i < 100'000; ++i) checks += ", *c";
  refused(checks + "]}\n");
  std::string records = "- &r KEY: {NAME: a, CHECK: " + code + "}\n";
  records = "- &r {KEY: {NAME: a, CHECK: " + code + "}}\n";
  for (int i = 0; i < 100'000; ++i) records += "- *r\n";
  refused(records);
  std::string names = "- KEY: {NAME: &n " + std::string(100'000, 'n') + "}\n";
  for (int i = 0; i < 1000; ++i) names += "- KEY: {NAME: *n}\n";
  refused(names);
  // Twice the size of a file may be read.
  const auto repeated = [](int times) {
    std::string text = "- KEY: {NAME: &n " + std::string(100'000, 'n') + "}\n";
    for (int i = 1; i < times; ++i) text += "- KEY: {NAME: *n}\n";
    return text;
  };
  EXPECT_EQ(error_of(repeated(20)), "");
  refused(repeated(22));
  // A file of the same size without them is fine.
  std::string plain;
  for (int i = 0; i < 10'000; ++i) plain += "- KEY: {NAME: key" + std::to_string(i) + "}\n";
  EXPECT_EQ(error_of(plain), "");
}

TEST(RuleFile, IncludedFilesShareTheSizeLimit) {
  const std::string large = "# " + std::string(kMaxRuleFileBytes / 3, 'x') + "\n";
  const auto read = [&](const std::string&) { return large + "- KEY: {NAME: k}\n"; };
  EXPECT_NO_THROW(compile_rule_file("a.yaml", large + "- INCLUDE: b.yaml\n", read));
  EXPECT_THROW(compile_rule_file("a.yaml", large + "- INCLUDE: b.yaml\n- INCLUDE: c.yaml\n", read),
               Error);
}

TEST(RuleStore, BuiltInRulesCompileForEveryRound) {
  RuleStore rules;
  EXPECT_EQ(rules.rulesets("training"),
            (std::vector<std::string>{"0.7.0", "1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0", "3.1.0",
                                      "4.0.0", "4.1.0", "5.0.0"}));
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.ends_with(".yaml")) {
      EXPECT_NE(rules.load(std::string(file.name.substr(6))), nullptr) << file.name;
    }
  }
  EXPECT_FALSE(rules.has_ruleset("training", "9.9.9"));
  EXPECT_EQ(rules.load("training_9.9.9/common.yaml"), nullptr);
}

// A directory with one rule file, checked against a passing log.
LogVerdict check_with(const std::string& common) {
  const TemporaryFolder folder;
  folder.write("training_5.0.0/common.yaml", common);
  folder.write("secret.yaml", "- KEY: {NAME: secret, REQ: EXACTLY_ONE}");
  RuleStore rules(folder.path());
  return check_log(mllog::LogReader::from_text(BertLog::passing().text(), "test"), rules,
                   "training", "5.0.0");
}

TEST(RuleStore, HostileRulesAreStopped) {
  for (const char* outside : {"../../etc/passwd", "/etc/passwd"}) {
    const LogVerdict verdict =
        check_with(fmt::format("- KEY: {{NAME: seed, POST: \"enqueue_config('{}')\"}}", outside));
    ASSERT_EQ(verdict.errors.size(), 1u);
    EXPECT_EQ(verdict.errors[0].summary, fmt::format("Could not find config file: {}", outside));
  }
  const LogVerdict loop =
      check_with("- KEY: {NAME: seed, POST: \"enqueue_config('training_5.0.0/common.yaml')\"}");
  ASSERT_EQ(loop.errors.size(), 1u);
  EXPECT_THAT(loop.errors[0].summary, HasSubstr("too many rule files"));
  const LogVerdict memory = check_with(
      "- BEGIN:\n    CODE: |\n      s['x'] = 'abcdefgh'\n      for i in range(64): s['x'] = s['x'] "
      "+ s['x']\n");
  ASSERT_EQ(memory.errors.size(), 1u);
  EXPECT_THAT(memory.errors[0].summary, HasSubstr("stopped"));
  const LogVerdict endless = check_with(
      "- BEGIN:\n    CODE: |\n      for line in loglines: loglines.append(line)\n"
      "      for a in range(99999):\n        for b in range(99999): pass\n");
  ASSERT_FALSE(endless.passed());
  // All files share the steps, and events that rules add give no more.
  const LogVerdict adds = check_with(
      "- BEGIN:\n    CODE: |\n      for line in loglines:\n        for i in range(1000): "
      "loglines.append(line)\n");
  ASSERT_EQ(adds.errors.size(), 1u);
  EXPECT_THAT(adds.errors[0].summary, HasSubstr("too many events"));
  const LogVerdict nested = check_with(
      "- KEY:\n    NAME: seed\n    PRE: |\n      s['x'] = [1]; s['y'] = [1]\n"
      "      for i in range(50): s['x'] = [s['x'], s['x']]; s['y'] = [s['y'], s['y']]\n"
      "    CHECK: \"s['x'] == s['y']\"\n");
  ASSERT_EQ(nested.errors.size(), 1u);
  EXPECT_THAT(nested.errors[0].summary, HasSubstr("too many steps"));
}

// A loop reads all of an event, even the parts that rules do not see.
TEST(RuleStore, LoopsAreChargedByTheLengthOfEvents) {
  const TemporaryFolder folder;
  folder.write("training_5.0.0/common.yaml",
               "- BEGIN:\n    CODE: |\n      for i in range(2000):\n"
               "        for line in loglines: pass\n");
  const auto check_event = [&](size_t bytes) {
    RuleStore rules(folder.path());
    return check_log(mllog::LogReader::from_text(
                         R"(:::MLLOG {"time_ms": 1, "key": "k", "value": 1, "metadata": {}, )"
                         R"("other": ")" +
                             std::string(bytes, 'x') + "\"}\n",
                         "test"),
                     rules, "training", "5.0.0");
  };
  EXPECT_TRUE(check_event(100).passed());
  const LogVerdict verdict = check_event(1 << 20);
  ASSERT_EQ(verdict.errors.size(), 1u);
  EXPECT_THAT(verdict.errors[0].summary, HasSubstr("too many steps"));
}

// A finding says what failed, where the rule is and where in the log. Later code still runs.
TEST(RuleStore, EveryFindingHasItsPlace) {
  const LogVerdict verdict = check_with(R"yaml(
- BEGIN: {CODE: "s['x'] = 1 / 0"}
- KEY: {NAME: seed, PRE: "s['x'] = 1 / 0", CHECK: "v['value'] > 1 / 0", POST: "s['x'] = s['nothing']"}
- KEY: {NAME: cache_clear, PRE: "s['x'] = 1 / 0"}
- KEY: {NAME: run_start, CHECK: "1 / 0"}
- KEY: {NAME: global_batch_size, CHECK: "v['value'] == 3"}
- KEY: {NAME: eval_accuracy, ATLEAST_ONE_CHECK: "v['value'] > 5"}
- KEY: {NAME: submission_benchmark, ATLEAST_ONE_CHECK: "v['value'] > 5"}
- KEY: {NAME: absent, REQ: EXACTLY_ONE}
- KEY: {NAME: missing, REQ: AT_LEAST(1)}
- KEY: {NAME: neither, REQ: AT_LEAST_ONE_OR(nor)}
- KEY: {NAME: nor, REQ: AT_LEAST_ONE_OR(neither)}
- END: {PRE: "s['x'] = 1 / 0", CHECK: ["s['y']", "1 > 2"]}
)yaml");
  std::string text;
  for (const Finding& finding : verdict.errors) {
    // Prints the part of the found text after the value or the log's line.
    text += fmt::format("{}|{}|{}|{}:{}|{}\n", finding.key, finding.summary,
                        finding.found.substr(finding.found.rfind('}') + 1), finding.rule_file,
                        finding.rule_line, finding.log_line);
  }
  EXPECT_EQ(
      text,
      R"(cache_clear|Failed executing code PRE code triggered by line :| (division by zero)|training_5.0.0/common.yaml:4|1
seed|Failed executing code POST code triggered by line :| (the dictionary has no key 'nothing')|training_5.0.0/common.yaml:3|8
global_batch_size|CHECK for 'global_batch_size' failed in line 9:||training_5.0.0/common.yaml:6|9
run_start|Failed executing CHECK code:| (division by zero)|training_5.0.0/common.yaml:5|24
absent|Required EXACTLY_ONE occurrence of 'absent' but found 0|0 occurrences|training_5.0.0/common.yaml:9|0
missing|Required AT_LEAST(1) occurrence of 'missing' but found 0|0 occurrences|training_5.0.0/common.yaml:10|0
|Failed executing BEGIN code|division by zero|training_5.0.0/common.yaml:2|0
|Failed checks for submission_benchmark : v['value'] > 5| ('str' and 'int' cannot be ordered))|training_5.0.0/common.yaml:8|3
|Failed checks for eval_accuracy : v['value'] > 5|the last of 1 value: 0.7201|training_5.0.0/common.yaml:7|29
|Required AT_LEAST_ONE occurrence of 'neither' or 'nor'|no occurrence|training_5.0.0/common.yaml:11|0
|Failed executing END PRE code|division by zero|training_5.0.0/common.yaml:13|0
|Failed executing CHECK code:|the dictionary has no key 'y'|training_5.0.0/common.yaml:13|0
|failed test: 1 > 2||training_5.0.0/common.yaml:13|0
)");
  EXPECT_EQ(verdict.errors.back().found, "state s = {}");
  EXPECT_EQ(verdict.errors.front().rule, "s['x'] = 1 / 0");
}

TEST(RuleStore, MissingRuleFileIsAnError) {
  const LogVerdict verdict =
      check_with("- KEY: {NAME: seed, POST: \"enqueue_config('absent.yaml')\"}");
  ASSERT_EQ(verdict.errors.size(), 1u);
  EXPECT_EQ(verdict.errors[0].summary, "Could not find config file: absent.yaml");
}

TEST(RuleStore, RulesMayAddEventsForLaterFiles) {
  const TemporaryFolder folder;
  folder.write(
      "training_5.0.0/common.yaml",
      "- BEGIN:\n    CODE: |\n      from dataclasses import replace\n      for line in loglines:\n"
      "          if line.key == 'eval_accuracy':\n              copy = replace(line)\n             "
      " copy.key = 'aggregate'\n"
      "              copy.value = {'value': line.value['value'] + 1, 'metadata': {}}\n             "
      " loglines.append(copy)\n"
      "- KEY: {NAME: aggregate, REQ: EXACTLY_ONE, CHECK: \"1.72 <= v['value'] <= 1.73\"}\n");
  RuleStore rules(folder.path());
  const LogVerdict verdict = check_log(
      mllog::LogReader::from_text(BertLog::passing().text(), "test"), rules, "training", "5.0.0");
  EXPECT_TRUE(verdict.passed()) << describe(verdict.errors.front());
}

// A loop sees them after the log's events, even if it began before they were added.
TEST(RuleStore, EventsThatRulesAddAreSeenByTheirLoops) {
  const LogVerdict verdict = check_with(R"yaml(
- BEGIN:
    CODE: |
      from dataclasses import replace
      s['seen'] = 0
      for line in loglines:
          if line.key == 'seed':
              copy = replace(line)
              copy.key = 'copy'
              loglines.append(copy)
      for line in loglines:
          if line.key == 'copy':
              s['seen'] += 1
- END: {CHECK: "s['seen'] == 1"}
)yaml");
  EXPECT_TRUE(verdict.passed()) << describe(verdict.errors.front());
}

TEST(RuleStore, EventsThatRulesAddAreCounted) {
  const LogVerdict verdict = check_with(R"yaml(
- BEGIN:
    CODE: |
      from dataclasses import replace
      s['before'] = len(loglines)
      for line in loglines:
          if line.key == 'seed' or line.key == 'cache_clear':
              copy = replace(line)
              copy.key = 'copy'
              loglines.append(copy)
      s['added'] = len(loglines) - s['before']
- END: {CHECK: "s['added'] == 2"}
)yaml");
  EXPECT_TRUE(verdict.passed()) << describe(verdict.errors.front());
}

TEST(RuleStore, RulesetsAreTheFoldersThatHoldRulesOfTheUsage) {
  const TemporaryFolder folder;
  for (const char* held : {"training_5.0.0", "training_4.10.0", "training_4.9.0", "hpc_3.0.0",
                           "training_5.0.0_warn", "other"}) {
    folder.write(fmt::format("{}/common.yaml", held), "");
  }
  folder.write("training_notes/README", "");
  const RuleStore rules(folder.path());
  EXPECT_EQ(rules.rulesets("training"), (std::vector<std::string>{"4.9.0", "4.10.0", "5.0.0"}));
  EXPECT_EQ(rules.rulesets("hpc"), std::vector<std::string>{"3.0.0"});
}

TEST(RuleStore, DirectoryWithoutRulesIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(RuleStore{folder.path()}, Error);
}

}  // namespace
}  // namespace strata::compliance
