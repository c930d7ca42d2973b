// The GitHub action's scripts, with a stand-in for `gh`.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/files.h"
#include "tests/cli/tools.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using testing_support::run_command;

constexpr char kAction[] = STRATA_SOURCE_DIR "/.github/actions/strata-check";

// A repository whose last commit makes a run faster and adds a system with a hostile name.
class Action : public Tools {
 protected:
  Action() {
    const auto gh = folder_.write(
        "bin/gh", "#!/bin/sh\necho \"$@\" >>'" + path("calls") + "'\ncase \"$*\" in *--jq*) cat '" +
                      path("known") + "' ;; *) for w; do case $w in body=@*) cp \"${w#body=@}\" '" +
                      path("body") + "' ;; esac; done ;; esac\n");
    ::chmod(gh.c_str(), 0755);
    folder_.write("known", "");
    folder_.write("output", "");
    git("init -q . && git add Acme && git -c user.name=a -c user.email=a@b commit -qm one");
    BertLog faster = BertLog::passing();
    const double begin = faster.at("run_start").time_ms;
    faster.at("run_stop").time_ms = begin + 0.9 * (faster.at("run_stop").time_ms - begin);
    write_run("good", 0, faster);
    write_run("@me |<b>_x_`", 0, BertLog::passing().without("run_stop"));
  }
  void git(const std::string& words) {
    const auto done = run_command("cd '" + path() + "' && git " + words);
    ASSERT_EQ(done.status, 0) << done.output;
  }
  testing_support::CommandResult run_script(const std::string& script) {
    return run_command("cd '" + path() + "' && GITHUB_ACTION_PATH='" + kAction + "' RUNNER_TEMP='" +
                       path() + "' GITHUB_OUTPUT='" + path("output") + "' GITHUB_STEP_SUMMARY='" +
                       path("summary") + "' GITHUB_REPOSITORY=o/r NUMBER=7 GH_TOKEN=x STRATA='" +
                       STRATA_BINARY + "' GIVEN='" + STRATA_BINARY +
                       "' RESULTS=Acme KIND=log RULESET=5.0 RULES='' BASE=$(git rev-parse HEAD) "
                       "PATH='" +
                       path("bin") + "':\"$PATH\" " + kAction + "/" + script);
  }
};

TEST_F(Action, ChecksAndNamesItsFiles) {
  EXPECT_EQ(run_script("program.sh").status, 0);
  const auto checked = run_script("check.sh");
  EXPECT_NE(checked.output.find("::error file=Acme/results/@me |<b>_x_`/bert/result_0.txt,title="),
            std::string::npos)
      << checked.output;
  EXPECT_EQ(WEXITSTATUS(checked.status), 1);
  const std::string output = read_file(path("output"));
  EXPECT_NE(output.find("program=/"), std::string::npos) << output;
  EXPECT_NE(output.find("/strata-check.sarif\njunit="), std::string::npos) << output;
  EXPECT_EQ(read_file(path("strata-check.sarif")).substr(0, 1), "{");
  EXPECT_EQ(read_file(path("strata-check.xml")).substr(0, 5), "<?xml");
}

TEST_F(Action, CommentsTheChangeInScoresOnce) {
  const auto commented = run_script("comment.sh");
  ASSERT_EQ(commented.status, 0) << commented.output;
  const std::string body = read_file(path("body"));
  EXPECT_EQ(body.substr(0, 21), "<!-- strata-check -->") << body;
  EXPECT_NE(body.find("| Acme | good | bert |"), std::string::npos) << body;
  EXPECT_NE(body.find("| -10.00 % |"), std::string::npos) << body;
  // Names are shown and mean nothing to Markdown, nor call anyone.
  EXPECT_NE(body.find("| &#64;me &#124;&lt;b&gt;&#95;x&#95;&#96; | bert | - | - | new |"),
            std::string::npos)
      << body;
  EXPECT_EQ(read_file(path("summary")), body);
  EXPECT_NE(read_file(path("calls")).find("POST repos/o/r/issues/7/comments"), std::string::npos);
  folder_.write("known", "123\n");
  ASSERT_EQ(run_script("comment.sh").status, 0);
  EXPECT_NE(read_file(path("calls")).find("PATCH repos/o/r/issues/comments/123"),
            std::string::npos);
}

}  // namespace
}  // namespace strata::cli
