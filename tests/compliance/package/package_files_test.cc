// Files of a submission that are missing, cannot be read or do not belong there.
#include <sys/stat.h>

#include <cstdlib>

#include "base/error.h"
#include "compliance/package/repository.h"
#include "tests/compliance/package/small_package.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

TEST(Package, AFolderWithTheNameOfALogIsReported) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  folder.write("Strata/systems/._laptop.json", "of another system");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  fs::create_directories(folder.path() / kResults / "result_10.txt");
  EXPECT_FALSE(check(folder).passed());
  EXPECT_THAT(text_of(folder), HasSubstr("result_10.txt is a folder, not a log"));
}

// Such files do not end the check, use up memory or make it wait.
TEST(Package, SpecialFilesAreReportedAndNotRead) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  const fs::path systems = folder.path() / "Strata/systems", results = folder.path() / kResults;
  fs::create_symlink("/dev/zero", systems / "zero.json");
  ASSERT_EQ(::mkfifo((systems / "fifo.json").c_str(), 0600), 0);
  fs::create_symlink("nowhere", systems / "dangling.json");
  fs::remove(results / "result_3.txt");
  ASSERT_EQ(::mkfifo((results / "result_3.txt").c_str(), 0600), 0);
  fs::remove(results / "result_4.txt");
  fs::create_symlink("nowhere", results / "result_4.txt");
  fs::create_directories(results / "power/result_0");
  ASSERT_EQ(::mkfifo((results / "power/result_0/node_0.txt").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", results / "package_checker_params");
  const std::string text = text_of(folder);
  for (const char* part :
       {"zero.json: is a device", "fifo.json: is a FIFO",
        "dangling.json: cannot open: it is a broken link", "result_3.txt is a FIFO, not a log",
        "result_4.txt is a broken link", "node_0.txt is a FIFO, not a log"}) {
    EXPECT_THAT(text, HasSubstr(part)) << part;
  }
  fs::remove(systems / "laptop.json");
  fs::create_symlink("/dev/zero", systems / "laptop.json");
  EXPECT_THAT(text_of(folder), HasSubstr("systems/laptop.json is a device, not a description"));
}

TEST(Package, AnUnreadableLogCountsAsOneFailedLog) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  fs::resize_file(folder.path() / kResults / "result_3.txt", mllog::LogReader::kMaxFileBytes + 1);
  const PackageVerdict one = check(folder);
  EXPECT_EQ(one.outcome(), Outcome::kPassed) << package_text(one);
  EXPECT_THAT(package_text(one), HasSubstr("result_3; accepted"));
  fs::resize_file(folder.path() / kResults / "result_4.txt", mllog::LogReader::kMaxFileBytes + 1);
  EXPECT_EQ(check(folder).outcome(), Outcome::kFailed);
}

// A path that is too long stands for a folder without permission, which root has everywhere.
TEST(Package, FoldersThatCannotBeListedAreReported) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  const std::string name(200, 'x');
  const fs::path start = fs::current_path();
  fs::current_path(folder.path() / "Strata/results/laptop");
  for (int i = 0; i < 25; ++i) {
    fs::create_directory(name);
    fs::current_path(name);
  }
  fs::current_path(start);
  ListingProblems problems;
  EXPECT_EQ(find_result_folders(folder.path(), &problems).size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("cannot be listed: File name too long"));
  EXPECT_THROW(find_result_folders(folder.path()), Error);
  const Section repository = check_repository(folder.path());
  ASSERT_EQ(repository.errors.size(), 1u);
  EXPECT_THAT(repository.errors[0], HasSubstr("cannot be listed"));
  EXPECT_NE(std::system(("rm -rf '" + (folder.path() / "Strata/results").string() + "'").c_str()),
            -1);
}

TEST(Package, FilesThatStrataWritesBesideALogAreKnown) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  for (const char* ending : {"yaml", "steps.jsonl", "timeline.json", "safetensors"})
    folder.write(std::string(kResults) + "result_1." + ending, "x");
  EXPECT_THAT(text_of(folder), Not(HasSubstr("unknown file")));
  folder.write(std::string(kResults) + "result_11.yaml", "of no log");
  EXPECT_THAT(text_of(folder), HasSubstr("unknown file result_11.yaml"));
}

}  // namespace
}  // namespace strata::compliance
