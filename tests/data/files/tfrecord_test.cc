#include "data/files/tfrecord.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

// Uses a copy of the file of 76 records that tests/golden/reference/mlperf_reference.py wrote with
// TensorFlow.
class Tfrecord : public testing::Test {
 protected:
  Tfrecord() { write_file_atomically(path_, golden_); }

  std::string error_after(const std::function<void(std::string&)>& damage) {
    std::string bytes = golden_;
    damage(bytes);
    write_file_atomically(path_, bytes);
    return error_of([&] {
      const TfrecordFile file(path_);
      for (size_t i = 0; i < file.size(); ++i) file.read(i);
    });
  }

  const std::string golden_ = read_file(kGolden / "reference/mlperf_reference.tfrecord");
  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "x.tfrecord";
};

TEST_F(Tfrecord, RecordsOfTensorFlowAreRead) {
  EXPECT_TRUE(TfrecordFile::is_one(path_));
  const TfrecordFile file(path_);
  EXPECT_EQ(file.size(), 76u);
  size_t bytes = 0;
  for (size_t i = 0; i < file.size(); ++i) bytes += file.read(i).size() + 16;
  EXPECT_EQ(bytes, golden_.size());
}

TEST_F(Tfrecord, OtherFilesAreNotRecognised) {
  EXPECT_FALSE(TfrecordFile::is_one(kGolden / "data/mlperf_fixed.hdf5"));
  EXPECT_FALSE(TfrecordFile::is_one(kGolden / "reference/mlperf_reference.txt"));
  EXPECT_FALSE(TfrecordFile::is_one(directory_ / "none"));
  EXPECT_FALSE(TfrecordFile::is_one(directory_.path()));
  write_file_atomically(path_, golden_.substr(0, 11));
  EXPECT_FALSE(TfrecordFile::is_one(path_));
}

TEST_F(Tfrecord, ATruncatedFileNamesTheLastRecord) {
  const std::string inside = error_after([](std::string& bytes) { bytes.pop_back(); });
  EXPECT_TRUE(contains(inside, "x.tfrecord: record 75 at byte ")) << inside;
  EXPECT_TRUE(contains(inside, "it is truncated")) << inside;
  const size_t last = golden_.rfind(golden_.substr(0, 6));  // all records have the same length
  const std::string header = error_after([&](std::string& bytes) { bytes.resize(last + 5); });
  EXPECT_TRUE(contains(header, "the file ends inside its header")) << header;
}

TEST_F(Tfrecord, ADamagedLengthNamesItsByte) {
  const std::string message = error_after([](std::string& bytes) { bytes[3] ^= 1; });
  EXPECT_TRUE(contains(message, "record 0 at byte 0: its length does not match its checksum"));
}

TEST_F(Tfrecord, EachDamagedByteIsFound) {
  for (size_t at = 0; at < 600; ++at) {
    EXPECT_NE(error_after([&](std::string& bytes) { bytes[at] ^= 0x20; }), "") << at;
  }
}

TEST_F(Tfrecord, AMissingFileIsNamed) {
  EXPECT_TRUE(contains(error_of([&] { TfrecordFile{directory_ / "none"}; }), "none: cannot be"));
}

}  // namespace
}  // namespace strata::data
