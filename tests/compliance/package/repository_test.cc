#include "compliance/package/repository.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/compliance/package/small_package.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

TEST(Repository, AnEmptyFolderIsNotJudged) {
  const TemporaryFolder folder;
  EXPECT_EQ(check_repository(folder.path()).outcome(), Outcome::kNotJudged);
  folder.write("a", "");
  EXPECT_EQ(check_repository(folder.path()).outcome(), Outcome::kPassed);
}

TEST(Repository, NamesSizesAndLinksAreChecked) {
  const TemporaryFolder folder;
  folder.write("good/file.txt", "x");
  EXPECT_TRUE(check_repository(folder.path()).passed());
  fs::create_symlink("file.txt", folder.path() / "good/link");
  EXPECT_TRUE(check_repository(folder.path()).passed());
  folder.write("bad name.txt", "x");
  folder.write(".hidden", "x");
  fs::create_symlink("nowhere", folder.path() / "dangling");
  fs::resize_file(folder.write("large", "x"), kMaxRepositoryFileBytes + 1);
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(check_repository(folder.path()).errors.size(), 5u);
}

}  // namespace
}  // namespace strata::compliance
