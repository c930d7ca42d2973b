#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"

namespace strata {
namespace {

class Files : public testing::Test {
 protected:
  Files()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   fmt::format("files.{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~Files() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(Files, WrittenBytesAreReadBackAndParentsAreMade) {
  const std::string bytes("a\0b\n", 4);
  write_file_atomically(directory_ / "x" / "y", bytes);
  EXPECT_EQ(read_file(directory_ / "x" / "y"), bytes);
}

TEST_F(Files, AMissingFileIsNamed) {
  try {
    read_file(directory_ / "none");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("none: cannot open"), std::string::npos);
  }
}

TEST_F(Files, ADirectoryIsNotAFile) { EXPECT_THROW(read_file(directory_), Error); }

TEST_F(Files, ADirectoryIsListedInOrderOfName) {
  for (const char* name : {"c", "a", "b"}) write_file_atomically(directory_ / name, "x");
  EXPECT_EQ(list_directory(directory_),
            (std::vector{directory_ / "a", directory_ / "b", directory_ / "c"}));
  EXPECT_THROW(list_directory(directory_ / "none"), Error);
}

// A file-size limit stands in for a disk that fills up: both make write() fail half way.
TEST_F(Files, AFailedWriteKeepsTheOldFileAndLeavesNothingElse) {
  write_file_atomically(directory_ / "kept", "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limited);
  EXPECT_THROW(write_file_atomically(directory_ / "kept", std::string(100000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read_file(directory_ / "kept"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

}  // namespace
}  // namespace strata
