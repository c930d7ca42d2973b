#include "compliance/package/seeds.h"

#include "compliance/package/section.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

TEST(Seeds, AreComparedAsPythonCompares) {
  const auto log_with = [](const std::string& name, const std::string& seed,
                           const std::string& metadata) {
    return read_seeds(
        mllog::LogReader::from_text(R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": )" + seed +
                                        R"(, "metadata": )" + metadata + "}\n",
                                    name));
  };
  const std::string at = R"({"file": "train.cc", "lineno": 1})",
                    a = R"({"lineno": 1, "file": ")" + std::string(400, 'x') + "a\"}",
                    b = R"({"lineno": 1, "file": ")" + std::string(400, 'x') + "b\"}";
  struct Case {
    bool same;
    std::string seed_a, at_a, seed_b, at_b;
  };
  for (const Case& one :
       {Case{true, "7", at, "7", R"({"file": "train.cc", "lineno": 1.0})"},
        Case{true, "7", at, "7", R"({"file": "train.cc", "lineno": true})"},
        Case{false, "7", at, "7", R"({"file": "train.cc", "lineno": 2})"},
        Case{true, "100", at, R"("1_00\n")", at}, Case{false, "100", at, R"("1_01")", at},
        Case{true, "42", at, R"("\u0664\u0662")", at},                     // Arabic-Indic digits
        Case{true, "42", at, R"("\u3000+\ud835\udfd2\ud835\udfd0")", at},  // bold, after a space
        Case{false, "7", a, "7", b}}) {
    const Section section = check_seeds(
        {log_with("a.txt", one.seed_a, one.at_a), log_with("b.txt", one.seed_b, one.at_b)});
    EXPECT_EQ(!section.errors.empty(), one.same)
        << one.seed_a << " at " << one.at_a << ", " << one.seed_b << " at " << one.at_b;
  }
}

// sys.int_info.default_max_str_digits of Python, which counts neither the sign nor underscores.
TEST(Seeds, ATextMayHaveAsManyDigitsAsPythonReads) {
  const auto problem_of = [](const std::string& seed) {
    return read_seeds(mllog::LogReader::from_text(
                          R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": ")" + seed +
                              R"(", "metadata": {"file": "a", "lineno": 1}})"
                              "\n",
                          "a.txt"))
        .problem;
  };
  const std::string most(4300, '1');
  EXPECT_EQ(problem_of(most), "");
  EXPECT_EQ(problem_of("-" + most), "");
  EXPECT_EQ(problem_of("1_" + most.substr(1)), "");
  EXPECT_THAT(problem_of(most + "1"), HasSubstr("is not an integer"));
  EXPECT_THAT(problem_of("0" + most), HasSubstr("is not an integer"));
}

TEST(Seeds, EverySeedOfALogCounts) {
  const auto log_with = [](const std::string& name, const std::vector<int>& seeds) {
    std::string text;
    for (const int seed : seeds) {
      text += R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": )" + std::to_string(seed) +
              R"(, "metadata": {"file": "train.cc", "lineno": 1}})" + "\n";
    }
    return read_seeds(mllog::LogReader::from_text(text, name));
  };
  const Section section =
      check_seeds({log_with("a.txt", {1, 2, 3}), log_with("b.txt", {4}), log_with("c.txt", {3})});
  EXPECT_EQ(section.warnings, (std::vector<std::string>{"a.txt: logs 3 seeds"}));
  ASSERT_EQ(section.errors.size(), 1u);
  EXPECT_TRUE(section.errors[0].starts_with("c.txt: seed 3 of ")) << section.errors[0];
  EXPECT_TRUE(section.errors[0].ends_with("is also used by a.txt")) << section.errors[0];
  EXPECT_EQ(check_seeds({log_with("a.txt", {})}).errors,
            (std::vector<std::string>{"a.txt: logs no seed"}));
}

}  // namespace
}  // namespace strata::compliance
