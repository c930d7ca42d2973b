#include "compliance/trees/resubmission.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::TemporaryFolder;
constexpr char kCode[] = "/Acme/benchmarks/bert/implementations/pytorch/";

class Resubmit : public ::testing::Test {
 protected:
  Resubmit() {
    for (const std::string round : {"old", "new"}) {
      folder_.write(round + "/Acme/systems/box.json",
                    R"({"system_name": "box", "framework": "F 1", "number_of_nodes": "1"})");
      fs::create_directory(folder_.path() / round / "Acme/results");
      folder_.write(round + kCode + "run.sh", "run");
      folder_.write(round + kCode + "src/model.py", "model");
    }
  }
  Resubmission compare(const std::string& now = "new", const std::string& before = "old") {
    return compare_with_round(folder_.path() / now, folder_.path() / before);
  }

  TemporaryFolder folder_;
};

TEST_F(Resubmit, EqualSubmissionsHaveNoDifference) {
  for (const char* now : {"new", "new/Acme"}) {
    for (const char* before : {"old", "old/Acme"}) {
      const Resubmission result = compare(now, before);
      EXPECT_FALSE(result.differs());
      ASSERT_EQ(result.systems.size(), 1u);
      EXPECT_EQ(result.systems[0].sameness, Sameness::kSame);
      ASSERT_EQ(result.code.size(), 1u);
      EXPECT_EQ(result.code[0].sameness, Sameness::kSame);
      EXPECT_EQ(result.code[0].files, 2u);
    }
  }
}

TEST_F(Resubmit, FieldsThatDifferAreNamed) {
  folder_.write(
      "new/Acme/systems/box.json",
      R"({"system_name": "box", "framework": "F 2", "cooling": "air", "number_of_nodes": 1})");
  const Resubmission result = compare();
  EXPECT_TRUE(result.differs());
  const auto& fields = result.systems.at(0).fields;
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].field, "cooling");
  EXPECT_FALSE(fields[0].before);
  EXPECT_EQ(fields[1].field, "framework");
  EXPECT_EQ(*fields[1].before, "F 1");
  EXPECT_EQ(*fields[1].after, "F 2");
  EXPECT_EQ(fields[2].field, "number_of_nodes");  // a text is no number
}

TEST_F(Resubmit, FilesThatDifferAreNamed) {
  folder_.write(std::string("new") + kCode + "run.sh", "RUN");
  folder_.write(std::string("new") + kCode + "new.py", "");
  fs::remove(folder_.path() / ("old" + std::string(kCode) + "src/model.py"));
  fs::create_symlink("../run.sh", folder_.path() / ("old" + std::string(kCode) + "src/model.py"));
  folder_.write(std::string("old") + kCode + "gone\n.py", "");
  const CodeComparison code = compare().code.at(0);
  EXPECT_EQ(code.sameness, Sameness::kDiffers);
  EXPECT_EQ(code.changed, (std::vector<std::string>{"run.sh", "src/model.py"}));
  EXPECT_EQ(code.added, (std::vector<std::string>{"new.py"}));
  EXPECT_EQ(code.removed, (std::vector<std::string>{"gone\n.py"}));
}

TEST_F(Resubmit, ARenamedSystemFileIsFoundByTheSystemsName) {
  fs::rename(folder_.path() / "new/Acme/systems/box.json",
             folder_.path() / "new/Acme/systems/box_v2.json");
  const SystemComparison system = compare().systems.at(0);
  EXPECT_EQ(system.sameness, Sameness::kSame);
  EXPECT_EQ(system.before.filename(), "box.json");
  EXPECT_NE(system.ground, "");
}

TEST_F(Resubmit, SystemsMissingFromTheRoundBeforeAreNew) {
  fs::rename(folder_.path() / "new/Acme", folder_.path() / "new/Bolt");
  const Resubmission result = compare();
  EXPECT_FALSE(result.differs());
  EXPECT_EQ(result.systems.at(0).sameness, Sameness::kNew);
  EXPECT_EQ(result.code.at(0).sameness, Sameness::kNew);
  fs::rename(folder_.path() / "new/Bolt", folder_.path() / "new/ACME");
  EXPECT_EQ(compare().systems.at(0).sameness, Sameness::kSame);
}

// Files outside of either tree are neither read nor compared.
TEST_F(Resubmit, LinksAndDevicesAreNotFollowed) {
  const std::string code = "new" + std::string(kCode);
  ASSERT_EQ(::mkfifo((folder_.path() / (code + "pipe")).c_str(), 0600), 0);
  fs::create_symlink("/etc", folder_.path() / (code + "etc"));
  fs::create_directory_symlink("/etc",
                               folder_.path() / "new/Acme/benchmarks/bert/implementations/linked");
  fs::remove(folder_.path() / "new/Acme/systems/box.json");
  ASSERT_EQ(::mkfifo((folder_.path() / "new/Acme/systems/box.json").c_str(), 0600), 0);
  const Resubmission result = compare();
  ASSERT_EQ(result.problems.size(), 3u);
  EXPECT_THAT(result.problems[0], HasSubstr("box.json: is a FIFO"));
  ASSERT_EQ(result.code.size(), 1u);
  EXPECT_EQ(result.code[0].added, (std::vector<std::string>{"etc"}));
}

TEST_F(Resubmit, OtherFoldersAreRefused) {
  EXPECT_THAT(testing_support::error_of([&] { compare("new/Acme/systems"); }),
              HasSubstr("is not a submission"));
  EXPECT_THAT(testing_support::error_of([&] { compare("none"); }), HasSubstr("is missing"));
}

}  // namespace
}  // namespace strata::compliance
