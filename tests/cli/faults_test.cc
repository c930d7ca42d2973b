// Tests tools with failing calls. scripts/campaigns/faults tries all calls.
#include "tests/cli/faults.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::BertLog;
using ::strata::testing::whole_description;

class Faults : public ::testing::Test {
 protected:
  Faults() {
    for (const char* run : {"result_0.txt", "result_1.txt"}) {
      folder_.write(fs::path("Acme/results/good/bert") / run, BertLog::passing().text());
    }
    folder_.write("Acme/systems/good.json", "{}");
  }

  FaultyRun strata(const Fault& fault, std::vector<std::string> words) const {
    words.insert(words.begin(), testing_support::strata_program());
    return run_with(fault, words, folder_.path() / "report");
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  ::strata::testing::TemporaryFolder folder_;
};

TEST_F(Faults, AFailedAllocationEndsACommandWithAMessage) {
  STRATA_NEEDS_FAULTS();
  constexpr int kStep = 1201;  // the program makes some thousand calls
  for (const char* command : {"score", "check"}) {
    std::vector<std::string> words = {command, path("Acme")};
    if (words[0] == "check") words.insert(words.begin() + 1, "log");
    const ProcessResult good = strata({}, words).result;
    int failed = 0;
    for (int at = 11;; at += kStep) {
      const FaultyRun run = strata({"memory", at, ENOMEM}, words);
      if (!run.failed) break;
      if (run.result.exit_code == 0) {
        EXPECT_EQ(run.result.out, good.out) << at;  // the command went on without it
        continue;
      }
      ++failed;
      EXPECT_EQ(run.result.exit_code, 2) << command << " " << at << ": " << run.result.err;
      EXPECT_THAT(run.result.err,
                  AnyOf(HasSubstr("strata: out of memory"), HasSubstr(" do not fit in memory")))
          << command << " " << at;
    }
    EXPECT_GT(failed, 3) << command;
  }
}

// The destructor of a JSON object allocates memory, and cannot throw.
TEST_F(Faults, AFailedAllocationInALibraryEndsWithAMessage) {
  STRATA_NEEDS_FAULTS();
  BertLog log = BertLog::passing();
  for (int i = 0; i < 1000; ++i) log.append({"eval_accuracy", "0.5", "\"epoch_num\": 1"});
  folder_.write("Acme/results/long/bert/result_0.txt", log.text());
  int failed = 0;
  for (int at = 11;; at += 211) {
    const FaultyRun run =
        strata({"memory", at, ENOMEM}, {"plot", "curves", path("Acme/results/long"), "--json"});
    if (!run.failed) break;
    if (run.result.exit_code == 0) continue;
    ++failed;
    EXPECT_EQ(run.result.exit_code, 2) << at << ": " << run.result.err;
    EXPECT_THAT(run.result.err, HasSubstr("memory"));
  }
  EXPECT_GT(failed, 10);
}

TEST_F(Faults, FilesThatCannotBeReadOrWrittenAreNamed) {
  STRATA_NEEDS_FAULTS();
  const std::vector<std::vector<std::string>> commands = {
      {"score", path("Acme")},
      {"check", "log", path("Acme")},
      {"check", "package", path("Acme"), "--ruleset", "5.0.0"},
      {"check", "seeds", path("Acme")},
      {"check", "rcp", path("Acme")},
      {"plot", "curves", path("Acme"), "-o", path("curves.svg")},
  };
  for (const auto& command : commands) {
    const ProcessResult good = strata({}, command).result;
    int refused = 0;
    for (const Fault& call : {Fault{"open", 0, EMFILE}, Fault{"read", 0, EIO}}) {
      for (int at = 1;; at += 3) {
        const FaultyRun run = strata({call.kind, at, call.error}, command);
        if (!run.failed) break;
        const std::string what =
            command[0] + " " + command[1] + ", " + call.kind + " " + std::to_string(at);
        if (run.result.exit_code == good.exit_code) {
          EXPECT_EQ(run.result.out, good.out) << what;  // only the machine's description needed it
        } else {
          ++refused;
          EXPECT_EQ(run.result.exit_code, 2) << what;
          // The message names the unread folder, or the picture that was not written.
          EXPECT_TRUE(run.result.err.find(path("Acme")) != std::string::npos ||
                      run.result.err.find(path("curves.svg")) != std::string::npos)
              << what << ": " << run.result.err;
        }
      }
    }
    EXPECT_GT(refused, 3) << command[0] << " " << command[1];
  }
}

TEST_F(Faults, AnUnreadableDivisionIsNotTakenForAMissingOne) {
  STRATA_NEEDS_FAULTS();
  folder_.write("Acme/systems/good.json", R"({"division": "closed"})");
  const std::vector<std::string> command = {"check", "package", path("Acme")};
  const ProcessResult good = strata({}, command).result;
  ASSERT_THAT(good.out, HasSubstr("closed"));
  int refused = 0;
  for (int at = 1;; ++at) {
    const FaultyRun run = strata({"open", at, EMFILE}, command);
    if (!run.failed) break;
    if (run.result.err.find("good.json") == std::string::npos) continue;
    ++refused;
    EXPECT_EQ(run.result.exit_code, 2) << at << ": " << run.result.out << run.result.err;
  }
  EXPECT_EQ(refused, 2);  // the checks of the description, and its division
}

// Whichever call fails, a merge makes the whole tree or nothing, and scaling.json is complete or
// absent.
TEST_F(Faults, FilesOfASubmissionAreCompleteOrAbsent) {
  STRATA_NEEDS_FAULTS();
  folder_.write("Acme/results/good/bert/result_2.txt", BertLog::passing().text());
  folder_.write("points.json", R"({"one": {"Benchmark": "bert", "BS": 1,
      "Epochs to converge": [500, 600, 700, 800, 900]}})");
  struct Case {
    std::vector<std::string> command;
    fs::path output;
  };
  const std::vector<Case> cases = {
      {{"package", "merge", path("Acme"), "--output", path("made/round")}, path("made/round")},
      {{"check", "rcp", path("Acme"), "--ruleset", "5.0.0", "--custom-rcps", path("points.json"),
        "--write-scaling"},
       path("Acme/results/good/bert/scaling.json")}};
  for (const Case& one : cases) {
    const auto start_afresh = [&] {
      fs::remove_all(one.output);
      fs::create_directories(path("made"));
    };
    start_afresh();
    const ProcessResult good = strata({}, one.command).result;
    ASSERT_EQ(good.exit_code, 0) << good.out << good.err;
    ASSERT_TRUE(fs::exists(one.output)) << good.out;
    const auto count = [&] {
      size_t files = 0;
      for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
        files += entry.path() != path("report");
      return files;
    };
    const size_t whole = count();
    start_afresh();
    const size_t before = count();
    int refused = 0;
    for (const Fault& call :
         {Fault{"open", 0, EMFILE}, Fault{"read", 0, EIO}, Fault{"write", 0, ENOSPC},
          Fault{"close", 0, EIO}, Fault{"fsync", 0, EIO}, Fault{"rename", 0, EACCES},
          Fault{"mkdir", 0, ENOSPC}, Fault{"memory", 0, ENOMEM}}) {
      const int step = std::string(call.kind) == "memory" ? 97 : 1;
      for (int at = 1;; at += step) {
        start_afresh();
        const FaultyRun run = strata({call.kind, at, call.error}, one.command);
        if (!run.failed) break;
        const std::string what = one.command[1] + ", " + call.kind + " " + std::to_string(at);
        const size_t now = count();
        EXPECT_TRUE(now == before || now == whole) << what << ": " << now << " of " << whole;
        if (run.result.exit_code == 0) {
          EXPECT_EQ(now, whole) << what << ": " << run.result.out;
        } else {
          ++refused;
          EXPECT_EQ(run.result.exit_code, 2) << what << ": " << run.result.err;
          EXPECT_THAT(run.result.err, HasSubstr("strata: ")) << what;
        }
      }
    }
    EXPECT_GT(refused, 10) << one.command[1];
  }
}

// The workbook library writes temporary files without checking for errors.
TEST_F(Faults, AWorkbookIsWholeOrAbsent) {
  STRATA_NEEDS_FAULTS();
  if (strata({}, {"--version"}).result.out.find("libxlsxwriter") == std::string::npos)
    GTEST_SKIP() << "built without libxlsxwriter";
  folder_.write("Acme/systems/good.json", whole_description("Acme", "good"));
  const std::string output = path("table.xlsx");
  const std::vector<std::string> command = {"score",   path("Acme"), "--ruleset", "5.0.0",
                                            "--rules", "built-in",   "--summary", output};
  ASSERT_EQ(strata({}, command).result.exit_code, 0);
  const std::string whole = read_file(output);
  int refused = 0;
  for (const Fault& call :
       {Fault{"open", 0, EMFILE}, Fault{"write", 0, ENOSPC}, Fault{"close", 0, EIO},
        Fault{"fsync", 0, EIO}, Fault{"rename", 0, EACCES}}) {
    const int step = std::string(call.kind) == "write" ? 7 : 1;
    for (int at = 1;; at += step) {
      fs::remove(output);
      const FaultyRun run = strata({call.kind, at, call.error}, command);
      if (!run.failed) break;
      const std::string what = call.kind + " " + std::to_string(at) + ": " + run.result.err;
      if (run.result.exit_code == 0) {
        EXPECT_EQ(read_file(output), whole) << what;
      } else {
        ++refused;
        EXPECT_EQ(run.result.exit_code, 2) << what;
        EXPECT_THAT(run.result.err, HasSubstr("strata: ")) << what;
        // If a log could not be opened, its row lacks results.
        if (std::string(call.kind) != "open" && fs::exists(output)) {
          EXPECT_EQ(read_file(output), whole) << what;
        }
      }
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(Faults, AnUnreadableOutputOfAConverterIsNamed) {
  STRATA_NEEDS_FAULTS();
  folder_.write("bin/rsvg-convert", "#!/bin/sh\necho a picture\n");
  fs::permissions(path("bin/rsvg-convert"), fs::perms::owner_all);
  const std::string search = std::getenv("PATH");
  ::setenv("PATH", (path("bin") + ":" + search).c_str(), 1);
  const std::vector<std::string> command = {"plot", "curves", path("Acme"), "-o", path("x.png")};
  EXPECT_EQ(strata({}, command).result.exit_code, 0);
  int of_converter = 0;
  for (int at = 1;; ++at) {
    const FaultyRun run = strata({"read", at, EIO}, command);
    if (!run.failed) break;
    if (run.result.exit_code == 0) continue;  // only the machine's description needed it
    EXPECT_THAT(run.result.err, HasSubstr("strata: ")) << at;
    const bool named = run.result.err.find("converted picture") != std::string::npos;
    EXPECT_TRUE(named || run.result.err.find("/proc/self") == std::string::npos)
        << at << ": " << run.result.err;
    of_converter += named;
  }
  EXPECT_GT(of_converter, 0);
  ::setenv("PATH", search.c_str(), 1);
}

}  // namespace
}  // namespace strata::cli
