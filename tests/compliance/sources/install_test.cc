#include "compliance/sources/install.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files/files.h"
#include "compliance/checks/rounds.h"
#include "tests/support/oracle.h"

namespace strata::compliance {
namespace {

TEST(InstallableRules, MatchTheNewestPackage) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  const auto asked = testing_support::run_command(
      std::string(testing_support::oracle_python()) +
      " -c \"import importlib.metadata as m, mlperf_logging.compliance_checker as c; "
      "print(m.version('mlperf-logging'), list(c.__path__)[0], end='')\"");
  const size_t space = asked.output.find(' ');
  if (asked.output.substr(0, space) != pinned_versions().front())
    GTEST_SKIP() << "another version is installed: " << asked.output;
  std::error_code ignored;
  std::set<std::string> folders;
  for (const auto& folder : list_directory(asked.output.substr(space + 1), ignored))
    folders.insert(folder.filename().string());
  size_t there = 0;
  for (const std::string usage : {"training", "hpc"}) {
    for (const std::string_view round : known_rulesets(usage)) {
      const bool has = folders.contains(usage + '_' + std::string(round));
      EXPECT_EQ(has_installable_rules(usage, round), has) << usage << ' ' << round;
      there += has;
    }
  }
  EXPECT_EQ(there, 17u);
}

TEST(InstallableRules, AreNamedWithTheirPackage) {
  EXPECT_EQ(
      how_to_get_rules("training", "5.1.0"),
      "'strata rules install' installs them (mlperf-logging " + pinned_versions().front() + ")");
  EXPECT_EQ(how_to_get_rules("hpc", "0.7.0"), "'strata rules install' (mlperf-logging " +
                                                  pinned_versions().front() +
                                                  ") has no such rules either");
}

}  // namespace
}  // namespace strata::compliance
