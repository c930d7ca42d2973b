#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/files/files.h"
#include "tests/cli/process.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using ::strata::testing::BertLog;

const std::string kStrata = testing_support::strata_program();

class ReportCommand : public ::testing::Test {
 protected:
  ReportCommand() {
    folder_.write("mine/Acme/results/small/bert/result_0.txt", BertLog::passing().text());
    folder_.write("round/Bolt/results/big/bert/result_0.txt", BertLog::passing().text());
  }
  ProcessResult report(std::vector<std::string> words) {
    words.insert(words.begin(), {kStrata, "report"});
    return run(words);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  ::strata::testing::TemporaryFolder folder_;
};

TEST_F(ReportCommand, WritesOnePage) {
  const ProcessResult result = report(
      {path("mine"), "--beside", path("round"), "-o", path("x.html"), "--title", "Acme & Bolt"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("x.html: 2 result folders of 2 systems"));
  const std::string page = read_file(path("x.html"));
  EXPECT_THAT(page, HasSubstr("<title>Acme &amp; Bolt</title>"));
  EXPECT_THAT(page, HasSubstr("Acme small"));
  EXPECT_THAT(page, HasSubstr("Bolt big"));
  const ProcessResult printed = report({path("mine"), "-o", "/dev/stdout"});
  EXPECT_TRUE(printed.out.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(printed.out.ends_with("</html>\n"));
}

TEST_F(ReportCommand, TheSameRunsGiveTheSamePage) {
  for (const char* name : {"a.html", "b.html"}) {
    ASSERT_EQ(report({path("mine"), "-o", path(name)}).exit_code, 0);
  }
  EXPECT_EQ(read_file(path("a.html")), read_file(path("b.html")));
}

TEST_F(ReportCommand, RefusesImpossibleRequestsAndWritesNothing) {
  const auto refuses = [&](std::vector<std::string> words, const std::string& reason) {
    words.insert(words.end(), {"-o", path("x.html")});
    const ProcessResult refused = report(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(reason));
    EXPECT_FALSE(std::filesystem::exists(path("x.html")));
  };
  refuses({path("nowhere")}, "nowhere");
  refuses({path("mine"), "--benchmark", "ssd"}, "ssd");
  refuses({path("mine"), "--plan", path("mine/Acme/results/small/bert/result_0.txt")},
          "strata plan --json");
  refuses({path("mine"), "--measured", path("no.json")}, "no.json");
  refuses({path("mine"), "--port", "80"}, "--watch");
  refuses({path("mine"), "--watch", "--port", "0"}, "--output");
  EXPECT_EQ(report({path("mine"), "-o", path("no/such/folder") + "/"}).exit_code, 2);
  const ProcessResult elsewhere = report({path("mine"), "--watch", "--listen", "everywhere"});
  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("--listen everywhere"));
  EXPECT_EQ(report({path("mine"), "--watch", "--every", "0"}).exit_code, 2);
}

TEST_F(ReportCommand, DoesNotReplaceWhatItReads) {
  const std::string bert = "mine/Acme/results/small/bert/";
  folder_.write(bert + "result_0.yaml", "a: 1\n");
  folder_.write(bert + "result_0.steps.jsonl", "{\"step\": 1, \"seconds\": 1}\n");
  folder_.write("mine/Acme/systems/small.json", "{}");
  std::filesystem::create_symlink(path(bert + "result_0.txt"), path("link"));
  for (const std::string& name :
       {bert + "result_0.txt", bert + "result_0.yaml", bert + "result_0.steps.jsonl",
        std::string("mine/Acme/systems/small.json"), std::string("link")}) {
    const std::string before = read_file(path(name));
    const ProcessResult refused = report({path("mine"), "-o", path(name)});
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_THAT(refused.err, HasSubstr("; name another file"));
    EXPECT_EQ(read_file(path(name)), before);
  }
}

// Reports what could not be read, and still shows the rest.
TEST_F(ReportCommand, AProblemIsReportedAndThePageIsWritten) {
  std::filesystem::create_directory(path("mine/Acme/results/small/bert/result_0.steps.jsonl"));
  const ProcessResult result = report({path("mine"), "-o", path("x.html")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("result_0.steps.jsonl: is a directory"));
  EXPECT_THAT(read_file(path("x.html")), HasSubstr("result_0.steps.jsonl"));
}

// Returns the page's address when the server has printed it.
std::string address_in(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::string line;
  std::getline(text, line);
  return text.good() ? line : "";
}

TEST_F(ReportCommand, WatchesAnUnfinishedRun) {
  std::filesystem::create_directory(path("new"));
  const std::string out = path("out");
  Process server({"/bin/sh", "-c",
                  "exec " + kStrata + " report " + path("new") + " --watch --port 0 > " + out});
  ASSERT_TRUE(wait_until([&] { return !address_in(out).empty(); }, std::chrono::seconds(60)));
  const auto page = [&] {
    return testing_support::run_command(
               "python3 -c \"import urllib.request as r; "
               "print(r.build_opener(r.ProxyHandler({})).open('" +
               address_in(out) + "').read().decode())\"")
        .output;
  };
  EXPECT_THAT(page(), HasSubstr("no result_*.txt under it"));
  BertLog log = BertLog::passing();
  log.without("run_stop");
  folder_.write("new/Acme/results/small/bert/result_0.txt", log.text());
  folder_.write("new/Acme/results/small/bert/result_0.steps.jsonl",
                "{\"step\": 4242, \"seconds\": 1}\n");
  const std::string running = page();
  EXPECT_THAT(running, HasSubstr("4242"));
  EXPECT_THAT(running, HasSubstr("Runs that have not ended"));
  log.append({"run_stop", "null", "\"status\": \"success\""});
  folder_.write("new/Acme/results/small/bert/result_0.txt", log.text());
  EXPECT_THAT(page(), Not(HasSubstr("Runs that have not ended")));
  server.signal(SIGTERM);
  const ProcessResult ended = server.wait(std::chrono::seconds(20));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

// The server's thread waits in open() for a log that this process holds. The kernel breaks such a
// lease after 45 seconds.
TEST_F(ReportCommand, CanBeEndedWhileAPageIsBeingMade) {
  const std::string log = path("mine/Acme/results/small/bert/result_0.txt");
  ::signal(SIGIO, SIG_IGN);  // SIGIO says that somebody waits
  const int held = ::open(log.c_str(), O_RDWR | O_CLOEXEC);
  if (::fcntl(held, F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases on this file system";
  const std::string out = path("out");
  Process server({"/bin/sh", "-c",
                  "exec " + kStrata + " report " + path("mine") + " --watch --port 0 > " + out});
  ASSERT_TRUE(wait_until([&] { return !address_in(out).empty(); }, std::chrono::seconds(60)));
  Process reader({"python3", "-c",
                  "import urllib.request as r; "
                  "r.build_opener(r.ProxyHandler({})).open('" +
                      address_in(out) + "').read()"});
  EXPECT_TRUE(
      wait_until([&] { return ::fcntl(held, F_GETLEASE) != F_WRLCK; }, std::chrono::seconds(60)));
  server.signal(SIGINT);
  const ProcessResult ended = server.wait(std::chrono::seconds(20));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_FALSE(ended.timed_out);
  ::close(held);
}

}  // namespace
}  // namespace strata::cli
