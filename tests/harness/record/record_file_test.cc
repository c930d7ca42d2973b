#include "harness/record/record_file.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

// A limit on the size of files simulates a full disk.
class RecordFileTest : public testing_support::TemporaryDirectory {
 protected:
  RecordFileTest() : handler_(std::signal(SIGXFSZ, SIG_IGN)) { getrlimit(RLIMIT_FSIZE, &before_); }
  ~RecordFileTest() override {
    give_space();
    std::signal(SIGXFSZ, handler_);
  }
  void fill_after(rlim_t bytes) {
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  void give_space() { setrlimit(RLIMIT_FSIZE, &before_); }

  std::filesystem::path path() const { return directory_ / "records"; }

 private:
  void (*handler_)(int);
  rlimit before_;
};

TEST_F(RecordFileTest, ContinuesWhenThereIsSpaceAgainAndCountsLostRecords) {
  RecordFile file(path(), RecordFile::Begin::kEmpty);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(file.append("first\n", 1));
  fill_after(9);  // a part of the next record fits
  EXPECT_FALSE(file.append("second\n", 2));
  EXPECT_FALSE(file.append("third\n", 3));
  EXPECT_EQ(read_file(path()), "first\n") << "no record is torn";
  give_space();
  EXPECT_TRUE(file.append("fourth\n", 4));
  EXPECT_TRUE(file.append("fifth\n", 5));
  file.close();
  EXPECT_EQ(read_file(path()), "first\nfourth\nfifth\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\nstrata: " + path().string() + ": steps 2 to 3 are missing: File too large\n");
}

TEST_F(RecordFileTest, OpensEmptyOrAtTheEndButNotThroughALink) {
  write_file_atomically(path(), "earlier\n");
  RecordFile(path(), RecordFile::Begin::kAtEnd).append("later\n", 1);
  EXPECT_EQ(read_file(path()), "earlier\nlater\n");
  RecordFile(path(), RecordFile::Begin::kEmpty).append("new\n", 1);
  EXPECT_EQ(read_file(path()), "new\n");
  std::filesystem::create_symlink("records", directory_ / "link");
  EXPECT_THROW(RecordFile(directory_ / "link", RecordFile::Begin::kAtEnd), Error);
  EXPECT_THROW(RecordFile(directory_ / "missing" / "x", RecordFile::Begin::kEmpty), Error);
}

TEST_F(RecordFileTest, AnUnopenedFileIgnoresRecords) {
  RecordFile none;
  EXPECT_TRUE(none.append("x", 1));
  EXPECT_FALSE(none.is_open());
}

}  // namespace
}  // namespace strata::harness
