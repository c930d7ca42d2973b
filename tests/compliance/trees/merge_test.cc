#include "compliance/trees/merge.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::TemporaryFolder;

class Merge : public ::testing::Test {
 protected:
  Merge() {
    for (const char* file : {"a/Acme/systems/box.json", "a/Acme/results/box/bert/result_0.txt",
                             "b/Bolt/systems/rack.json", "b/Bolt/results/rack/bert/result_0.txt"}) {
      folder_.write(file, file);
    }
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  MergeReport merge(const std::vector<std::string>& sources, const std::string& output = "out") {
    std::vector<fs::path> paths;
    for (const std::string& source : sources) paths.push_back(at(source));
    return merge_submitters(paths, at(output));
  }
  std::string error_of(const std::vector<std::string>& sources, const std::string& output = "out") {
    return testing_support::error_of([&] { merge(sources, output); });
  }
  // Expects neither the output nor its temporary folder.
  void expect_nothing_made() {
    for (const fs::path& path : list_directory(folder_.path()))
      EXPECT_THAT(path.filename().string(), Not(HasSubstr("out"))) << path;
  }

  TemporaryFolder folder_;
};

TEST_F(Merge, MakesOneTreeOfSubmittersAndRounds) {
  folder_.write("a/Acme/benchmarks/bert/run.sh", "#!/bin/sh\n");
  fs::permissions(at("a/Acme/benchmarks/bert/run.sh"), fs::perms::owner_all);
  fs::create_symlink("run.sh", at("a/Acme/benchmarks/bert/same.sh"));
  fs::create_directory(at("a/Acme/empty"));
  const MergeReport report = merge({"a/Acme", "b"});
  ASSERT_EQ(report.submitters.size(), 2u);
  EXPECT_EQ(report.submitters[0].name, "Acme");
  EXPECT_EQ(report.submitters[0].files, 4u);
  EXPECT_EQ(report.submitters[1].files, 2u);
  EXPECT_EQ(read_file(at("out/Bolt/results/rack/bert/result_0.txt")),
            "b/Bolt/results/rack/bert/result_0.txt");
  EXPECT_EQ(::access(at("out/Acme/benchmarks/bert/run.sh").c_str(), X_OK), 0);
  EXPECT_NE(fs::status(at("out/Acme/systems/box.json")).permissions() & fs::perms::owner_read,
            fs::perms::none);
  EXPECT_EQ(fs::read_symlink(at("out/Acme/benchmarks/bert/same.sh")), "run.sh");
  EXPECT_TRUE(fs::is_directory(at("out/Acme/empty")));
}

TEST_F(Merge, PartsOfASubmitterAreOneFolder) {
  for (const char* file : {"c/Acme/systems/box.json", "c/Acme/results/box/resnet/result_0.txt"})
    folder_.write(file, file);
  folder_.write("c/Acme/systems/box.json", "a/Acme/systems/box.json");
  const MergeReport report = merge({"a", "c"});
  ASSERT_EQ(report.submitters.size(), 1u);
  EXPECT_EQ(report.submitters[0].sources.size(), 2u);
  EXPECT_EQ(report.same, (std::vector<std::string>{"Acme/systems/box.json"}));
  EXPECT_TRUE(fs::exists(at("out/Acme/results/box/resnet/result_0.txt")));
  EXPECT_TRUE(fs::exists(at("out/Acme/results/box/bert/result_0.txt")));
}

TEST_F(Merge, EveryConflictIsNamedAndNothingIsMade) {
  for (const char* file : {"c/Acme/systems/box.json", "c/Acme/results/box/bert/result_0.txt/file"})
    folder_.write(file, file);
  const std::string error = error_of({"a", "c"});
  EXPECT_THAT(error, HasSubstr("Acme/systems/box.json: has different contents in "));
  EXPECT_THAT(error, HasSubstr("Acme/results/box/bert/result_0.txt: has different file types in "));
  expect_nothing_made();
}

TEST_F(Merge, NeverReplacesAnExistingOutput) {
  fs::create_directory(at("out"));
  EXPECT_THAT(error_of({"a"}), HasSubstr("exists already (a folder)"));
  EXPECT_TRUE(fs::is_empty(at("out")));
  fs::remove(at("out"));
  fs::create_symlink("nowhere", at("out"));
  EXPECT_THAT(error_of({"a"}), HasSubstr("exists already"));
  EXPECT_FALSE(fs::exists(at("nowhere")));
}

TEST_F(Merge, LinksThatLeaveAreRefused) {
  folder_.write("secret", "of another");
  fs::create_symlink("/etc/passwd", at("a/Acme/systems/absolute"));
  fs::create_symlink("../../../secret", at("a/Acme/systems/relative"));
  fs::create_symlink(".", at("a/Acme/here"));
  fs::create_symlink("here/../../../secret", at("a/Acme/behind_a_link"));
  const std::string error = error_of({"a"});
  for (const char* name : {"absolute: is a link", "relative: is a link that leads out of",
                           "behind_a_link: is a link that leads out of"}) {
    EXPECT_THAT(error, HasSubstr(name));
  }
  EXPECT_THAT(error, Not(HasSubstr("here: ")));
  expect_nothing_made();
}

TEST_F(Merge, LinkedFoldersAreNotFollowed) {
  fs::create_symlink("..", at("a/Acme/results/box/up"));
  const MergeReport report = merge({"a"});
  EXPECT_EQ(report.submitters.at(0).files, 3u);
  EXPECT_TRUE(fs::is_symlink(at("out/Acme/results/box/up")));
}

TEST_F(Merge, SpecialFilesAreRefusedUnread) {
  ASSERT_EQ(::mkfifo(at("a/Acme/systems/pipe.json").c_str(), 0600), 0);
  const std::string error = error_of({"a"});
  EXPECT_THAT(error, HasSubstr("pipe.json: is a FIFO, which cannot be part of a submission"));
  expect_nothing_made();
}

TEST_F(Merge, HostileNamesAreCopiedAndPrintedOnOneLine) {
  const std::string name = "new\nline <b>\x1b[31m";
  folder_.write("a/Acme/systems/" + name, "x");
  merge({"a"});
  EXPECT_EQ(read_file(at("out/Acme/systems/" + name)), "x");
  folder_.write("c/Acme/systems/" + name, "other");
  fs::create_directory(at("c/Acme/results"));
  const std::string error = error_of({"a", "c"}, "out2");
  EXPECT_THAT(error, HasSubstr("new\\x0aline <b>\\x1b[31m: has different contents"));
  EXPECT_THAT(error, Not(HasSubstr("\n")));
}

TEST_F(Merge, RefusesAnOutputInASourceAndOtherFolders) {
  EXPECT_THAT(error_of({"a/Acme"}, "a/Acme/results/out"), HasSubstr("which is to be merged"));
  EXPECT_THAT(error_of({"a/Acme/systems"}), HasSubstr("is not a submission"));
  EXPECT_THAT(error_of({"none"}), HasSubstr("is missing"));
  EXPECT_THAT(error_of({"a"}, "none/out"), HasSubstr("is missing"));
  expect_nothing_made();
}

TEST_F(Merge, TheSameSourceTwiceCountsOnceAndGitIsLeftOut) {
  folder_.write("a/Acme/.git/config", "x");
  const MergeReport report = merge({"a", "a/Acme", "a/../a"});
  EXPECT_EQ(report.submitters.at(0).files, 2u);
  EXPECT_EQ(report.left_out.size(), 1u);
  EXPECT_FALSE(fs::exists(at("out/Acme/.git")));
}

TEST_F(Merge, LargeFilesAreComparedToTheirLastByte) {
  const std::string large((1 << 19) + 3, 'x');
  folder_.write("a/Acme/systems/large", large + "1");
  folder_.write("c/Acme/systems/large", large + "2");
  fs::create_directory(at("c/Acme/results"));
  EXPECT_THAT(error_of({"a", "c"}), HasSubstr("large: has different contents"));
  folder_.write("c/Acme/systems/large", large + "1");
  EXPECT_EQ(merge({"a", "c"}).same.size(), 1u);
  EXPECT_EQ(read_file(at("out/Acme/systems/large")), large + "1");
}

// The trees have terabytes, on disks that support sparse files.
TEST_F(Merge, TreesLargerThanTheDiskAreRefusedAtOnce) {
  constexpr uintmax_t kHuge = uintmax_t{8} << 40;
  for (const char* name : {"a/Acme/systems/huge", "c/Acme/systems/huge"}) {
    folder_.write(name, "x");
    std::error_code error;
    fs::resize_file(at(name), kHuge, error);
    if (error) GTEST_SKIP() << "no files of such a size here: " << error.message();
  }
  fs::create_directory(at("c/Acme/results"));
  EXPECT_THAT(error_of({"a"}), HasSubstr(" are free"));
  EXPECT_THAT(error_of({"a", "c"}), HasSubstr("too many to compare"));
  expect_nothing_made();
}

}  // namespace
}  // namespace strata::compliance
