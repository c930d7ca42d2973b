// Tests find_program() of base/files/files.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/files/files.h"
#include "tests/compliance/bert_log.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

// Creates a folder with a program of each name and makes it the current one.
class Programs : public ::testing::Test {
 protected:
  Programs() : before_(fs::current_path()), path_(std::getenv("PATH")) {
    for (const char* name : {"installed/tool", "here/tool", "here/only_here"}) {
      fs::permissions(folder_.write(name, "#!/bin/sh\n"), fs::perms::owner_all);
    }
    folder_.write("first/tool", "no program");
    fs::create_directories(folder_.path() / "second/tool");
    fs::current_path(folder_.path() / "here");
  }
  ~Programs() override {
    fs::current_path(before_);
    ::setenv("PATH", path_.c_str(), 1);
  }
  std::string found(const std::string& name, const std::string& search) {
    ::setenv("PATH", search.c_str(), 1);
    return find_program(name);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  fs::path before_;
  std::string path_;
  ::strata::testing::TemporaryFolder folder_;
};

TEST_F(Programs, AreNotFoundInTheCurrentFolder) {
  for (const std::string before : {"", ":", ".:", "::", "../here:", "./:"}) {
    EXPECT_EQ(found("tool", before + path("installed")), path("installed/tool")) << before;
    EXPECT_EQ(found("only_here", before + path("installed") + ":"), "") << before;
  }
}

TEST_F(Programs, OnlyExecutableFilesAreFound) {
  EXPECT_EQ(found("tool", path("first") + ":" + path("second") + ":" + path("installed")),
            path("installed/tool"));
  EXPECT_EQ(found("tool", path("first")), "");
}

TEST_F(Programs, APathWithAFolderIsReturnedAsItIs) { EXPECT_EQ(found("./tool", "/bin"), "./tool"); }

TEST_F(Programs, SystemProgramsAreFoundWithoutPath) {
  ::unsetenv("PATH");
  EXPECT_NE(find_program("sh"), "");
}

}  // namespace
}  // namespace strata
