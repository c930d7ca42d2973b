// Tests the GitHub action's scripts with a fake `gh`.
#include <sys/stat.h>

#include <string>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"
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
  // Later settings replace earlier ones.
  testing_support::CommandResult run_script(const std::string& script,
                                            const std::string& settings = "") {
    return run_command(
        "cd '" + path() + "' && export GITHUB_ACTION_PATH='" + kAction + "' RUNNER_TEMP='" +
        path() + "' GITHUB_OUTPUT='" + path("output") + "' GITHUB_STEP_SUMMARY='" +
        path("summary") + "' GITHUB_REPOSITORY=o/r NUMBER=7 GH_TOKEN=x STRATA='" +
        testing_support::strata_program() + "' GIVEN='" + testing_support::strata_program() +
        "' RESULTS=Acme KIND=log RULESET=5.0 RULES='' BASE=$(git rev-parse HEAD) "
        "PATH='" +
        path("bin") + "':\"$PATH\" && " + settings + " " + kAction + "/" + script);
  }
  void write_program(const std::string& name, const std::string& text) {
    ::chmod(folder_.write(name, "#!/bin/sh\n" + text).c_str(), 0755);
  }
  void commit(const std::string& files) {
    git("add -f " + files + " && git -c user.name=a -c user.email=a@b commit -qm more");
  }
};

TEST_F(Action, ChecksResultsAndNamesTheFilesItWrote) {
  EXPECT_EQ(run_script("program.sh").status, 0);
  const auto checked = run_script("check.sh");
  EXPECT_THAT(checked.output,
              HasSubstr("::error file=Acme/results/@me |<b>_x_`/bert/result_0.txt,title="));
  EXPECT_EQ(WEXITSTATUS(checked.status), 1);
  const std::string output = read_file(path("output"));
  EXPECT_THAT(output, HasSubstr("program=/"));
  EXPECT_THAT(output, HasSubstr("/strata-check.sarif\njunit="));
  EXPECT_EQ(read_file(path("strata-check.sarif")).substr(0, 1), "{");
  EXPECT_EQ(read_file(path("strata-check.xml")).substr(0, 5), "<?xml");
}

TEST_F(Action, WritesOneCommentAboutTheChangeInScores) {
  const auto commented = run_script("comment.sh");
  ASSERT_EQ(commented.status, 0) << commented.output;
  const std::string body = read_file(path("body"));
  EXPECT_EQ(body.substr(0, 21), "<!-- strata-check -->") << body;
  EXPECT_THAT(body, HasSubstr("| Acme | good | bert |"));
  EXPECT_THAT(body, HasSubstr("| -10.00 % |"));
  // Names are shown, and neither format text in Markdown nor mention anyone.
  EXPECT_THAT(body, HasSubstr("| &#64;me &#124;&lt;b&gt;&#95;x&#95;&#96; | bert | - | - | new |"));
  EXPECT_EQ(read_file(path("summary")), body);
  EXPECT_THAT(read_file(path("calls")), HasSubstr("POST repos/o/r/issues/7/comments"));
  folder_.write("known", "123\n");
  ASSERT_EQ(run_script("comment.sh").status, 0);
  EXPECT_THAT(read_file(path("calls")), HasSubstr("PATCH repos/o/r/issues/comments/123"));
}

// A program may be run from the machine or from beside the checkout, but never from a commit.
TEST_F(Action, RunsNoFileOfThePullRequest) {
  const std::string hostile = "echo hostile code runs >>'" + path("ran") + "'\n";
  for (const char* name : {"strata", "python3", "git", "tar", "tools/strata", "tools/realpath"}) {
    write_program(name, hostile);
  }
  // Adds a module that Python would find beside its program, and a folder that looks like a
  // repository.
  folder_.write("json.py", "open('" + path("ran") + "', 'w')\n");
  git("init -q --bare tools && git -C tools config core.fsmonitor '" + path("strata") + "'");
  git("-C tools config core.worktree '" + path("tools") + "'");
  commit("strata python3 git tar tools json.py");
  std::filesystem::create_symlink("../strata", path("bin/linked"));
  std::filesystem::create_directory_symlink(path(), path("bin/all"));
  write_program("built/strata", "echo built\n");
  const ::strata::testing::TemporaryFolder elsewhere;
  std::filesystem::create_symlink(testing_support::strata_program(), elsewhere.path() / "strata");
  const std::string installed = elsewhere.path().string();
  const std::string real = std::filesystem::canonical(testing_support::strata_program()).string();
  struct Case {
    std::string given, search, program;  // empty `program`: refused
  };
  for (const Case& one : {
           Case{"strata", installed, real},
           Case{"strata", ".:" + installed, real},
           Case{"strata", ":" + installed, real},
           Case{"strata", path() + ":" + installed, real},
           Case{"strata", path("tools") + ":" + installed, real},
           Case{"strata", path("bin/all") + ":tools:" + installed, real},
           Case{"strata", path("built"), path("built/strata")},
           Case{"built/strata", installed, path("built/strata")},
           Case{"./built/../built/strata", installed, path("built/strata")},
           Case{installed + "/strata", "", real},
           Case{"strata", ".", ""},
           Case{"strata", "", ""},
           Case{"./strata", installed, ""},
           Case{path("strata"), installed, ""},
           Case{"tools/strata", installed, ""},
           Case{"bin/linked", installed, ""},
           Case{"bin/all/strata", installed, ""},
           Case{"Acme", installed, ""},
           Case{"missing", installed, ""},
       }) {
    folder_.write("output", "");
    const auto done = run_script(
        "program.sh", "GIVEN='" + one.given + "' PATH='" + one.search + "':/usr/bin:/bin");
    EXPECT_EQ(WEXITSTATUS(done.status), one.program.empty() ? 2 : 0)
        << one.given << " in " << one.search << ": " << done.output;
    EXPECT_EQ(read_file(path("output")), one.program.empty() ? "" : "program=" + one.program + "\n")
        << one.given << " in " << one.search;
  }
  const auto refused = run_script("program.sh", "GIVEN=./strata");
  EXPECT_THAT(refused.output,
              HasSubstr("::error::strata check: './strata' may be a file of the pull"));
  for (const char* script : {"program.sh", "check.sh", "comment.sh"}) {
    run_script(script, "PATH=\".:tools:'" + path() + "':$PATH\" PYTHONPATH=.");
  }
  EXPECT_EQ(read_file(path("body")).substr(0, 21), "<!-- strata-check -->");
  EXPECT_FALSE(std::filesystem::exists(path("ran"))) << read_file(path("ran"));
}

TEST_F(Action, InputPathsApplyToBothTrees) {
  const std::string rules = std::string(STRATA_SOURCE_DIR) + "/compliance/rules";
  std::filesystem::copy(rules, path("Rules"), std::filesystem::copy_options::recursive);
  for (const std::string& settings :
       {std::string("RULES=Rules"), std::string("RULES=./Rules/"), "RULES='" + path("Rules") + "'",
        std::string("RULES=built-in"), std::string("RESULTS=./Acme"), std::string("RESULTS=Acme/"),
        "RESULTS='" + path("Acme") + "'", std::string("RESULTS=.")}) {
    const auto done = run_script("comment.sh", settings);
    EXPECT_EQ(done.status, 0) << settings << done.output;
    const std::string body = read_file(path("body"));
    EXPECT_THAT(body, HasSubstr("| Acme | good | bert |")) << settings;
    EXPECT_THAT(body, HasSubstr("| -10.00 % |")) << settings;
  }
}

// A checkout may lie in a folder of the workspace.
TEST_F(Action, ComparesARepositoryBelowTheWorkspace) {
  std::filesystem::create_directory(path("below"));
  for (const char* name : {"Acme", ".git", "bin"}) {
    std::filesystem::rename(path(name), path("below") + "/" + name);
  }
  const auto done = run_script(
      "comment.sh",
      "RESULTS=below/Acme BASE=$(git -C below rev-parse HEAD) PATH=\"$PWD/below/bin:$PATH\"");
  EXPECT_EQ(done.status, 0) << done.output;
  const std::string body = read_file(path("body"));
  EXPECT_THAT(body, HasSubstr("| -10.00 % |"));
}

TEST_F(Action, ABaseThatWasNotFetchedIsAnError) {
  const auto done = run_script("comment.sh", "BASE=0123456789012345678901234567890123456789");
  EXPECT_EQ(WEXITSTATUS(done.status), 2) << done.output;
  EXPECT_THAT(done.output, HasSubstr("fetch-depth: 0"));
}

}  // namespace
}  // namespace strata::cli
