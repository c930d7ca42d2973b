#include "data/hdf5/reader_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

constexpr const char* kName = "strata-test";

std::string answer(std::string_view request) {
  if (request == "abort") std::abort();
  if (request == "exit") ::_exit(7);
  if (request == "spin") {
    limit_processor_time(1);
    for (volatile bool on = true; on;) {
    }
  }
  if (request == "print") std::cout << "unwanted\n" << std::flush;
  if (request == "files") {
    std::string open;
    for (int file = 0; file < 256; ++file) {
      if (::fcntl(file, F_GETFD) >= 0) open += std::to_string(file) + ' ';
    }
    return open;
  }
  return std::string(request.rbegin(), request.rend());
}

[[gnu::constructor]] void serve(int argc, char** argv, char**) {
  serve_if_named(kName, argc, argv, answer);
}

TEST(ReaderProcess, AnswersRequestsOfAnySize) {
  ReaderProcess process(kName);
  EXPECT_EQ(process.answer("abc"), "cba");
  EXPECT_EQ(process.answer(""), "");
  const std::string large(10'000'000, 'x');
  EXPECT_EQ(process.answer(large), large);
}

TEST(ReaderProcess, ReportsTheSignalThatEndedIt) {
  for (const auto& [request, signal] :
       {std::pair("abort", SIGABRT), {"spin", SIGPROF}, {"exit", 0}}) {
    ReaderProcess process(kName);
    EXPECT_EQ(process.answer("abc"), "cba");
    EXPECT_EQ(process.answer(request), std::nullopt) << request;
    EXPECT_EQ(process.death(), signal) << request;
  }
}

TEST(ReaderProcess, KeepsNoFileOfTheProgramOpen) {
  const TemporaryDirectory directory;
  std::ofstream other(directory / "other");
  ReaderProcess process(kName);
  EXPECT_EQ(process.answer("files"), "0 1 2 3 ");
}

TEST(ReaderProcess, PrintsNothing) {
  testing::internal::CaptureStdout();
  ReaderProcess process(kName);
  EXPECT_EQ(process.answer("print"), "tnirp");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

// Signals reach all processes of a job, but the program decides when to end.
TEST(ReaderProcess, OutlivesSignalsToTheJob) {
  ReaderProcess process(kName);
  EXPECT_EQ(process.answer("abc"), "cba");
  std::ifstream children("/proc/thread-self/children");
  for (pid_t child; children >> child;) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::kill(child, signal);
  }
  EXPECT_EQ(process.answer("abc"), "cba");
}

TEST(ReaderProcess, EndsWithItsOwnerAndLeavesNoChild) {
  { ReaderProcess process(kName); }
  std::ifstream children("/proc/thread-self/children");
  for (pid_t child; children >> child;) {
    std::ifstream name("/proc/" + std::to_string(child) + "/comm");
    std::string comm;
    name >> comm;
    EXPECT_NE(comm, kName);
  }
}

TEST(ReaderProcess, DoesNotBelongToAForkedChild) {
  ReaderProcess process(kName);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(process.is_ours() ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(process.answer("abc"), "cba");
}

}  // namespace
}  // namespace strata::data
