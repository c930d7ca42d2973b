#include "data/files/instance_shard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/files/instance_schema.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

// Files written by h5py, with the types that MLPerf submitters use.
TEST(InstanceShard, ReadsMlperfFilesMadeByH5py) {
  const nlohmann::json golden = read_golden("data/mlperf_hdf5.json");
  for (const char* name : {"data/mlperf_fixed.hdf5", "data/mlperf_varlen.hdf5"}) {
    const auto shard = open_shard(kGolden / name, true);
    const ShardIndex index = shard->read_index();
    ASSERT_EQ(index.lengths.size(), golden.size()) << name;
    for (size_t row = 0; row < golden.size(); ++row) {
      RawSample sample;
      shard->read(static_cast<uint32_t>(row), index.lengths[row], index.masked_counts[row], sample);
      EXPECT_EQ(sample.tokens, golden[row]["input_ids"].get<std::vector<int32_t>>()) << name;
      EXPECT_EQ(sample.segments, golden[row]["segment_ids"].get<std::vector<int32_t>>());
      EXPECT_EQ(sample.masked_positions,
                golden[row]["masked_lm_positions"].get<std::vector<int32_t>>());
      EXPECT_EQ(sample.masked_ids, golden[row]["masked_lm_ids"].get<std::vector<int32_t>>());
      EXPECT_EQ(sample.next_sentence, golden[row]["next_sentence_label"].get<int32_t>());
    }
    EXPECT_TRUE(shard->documents().empty());
  }
}

TEST(InstanceShard, TheFormIsDetectedFromTheSchema) {
  TemporaryDirectory directory;
  for (const InstanceForm form : kAllForms) {
    write_instances(directory / "x.hdf5", sample_instances(3), sample_info(form));
    EXPECT_EQ(detect_form(hdf5::File::open(directory / "x.hdf5")), form);
  }
}

TEST(InstanceShard, VariableLengthRowsAreRefusedUnlessAskedFor) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "rows.hdf5";
  write_instances(path, sample_instances(3), sample_info(InstanceForm::kMlperfVariable));
  EXPECT_TRUE(contains(error_of([&] { open_shard(path); }), "rows.hdf5: has variable-length rows"));
  EXPECT_EQ(open_shard(path, true)->read_index().lengths.size(), 3u);
  // An index must not delay the error until samples are read.
  EXPECT_EQ(write_index(std::span(&path, 1), true), 3u);
  EXPECT_TRUE(contains(error_of([&] { open_instances(path); }), "has variable-length rows"));
  EXPECT_EQ(open_instances(path, {.variable_length = true})->size(), 3u);
}

// Files with one defect, made data set by data set.
class WrongFile : public testing::Test {
 protected:
  std::string error() {
    write_file_atomically(path_, file_.image());
    return error_of([&] { open_shard(path_)->read_index(); });
  }
  void write(const char* name, std::vector<uint64_t> shape, std::vector<int32_t> values) {
    file_.write(name, H5T_STD_I32LE, shape, values.data());
  }
  void write_packed(const std::vector<int32_t>& offsets, uint64_t tokens, uint64_t masked,
                    int64_t version = schema::kFormatVersion) {
    const uint64_t rows = offsets.size() / 2 - 1;
    write(schema::kOffsets, {rows + 1, 2}, offsets);
    write(schema::kTokens, {tokens}, std::vector<int32_t>(tokens, 7));
    write(schema::kFirstLengths, {rows}, std::vector<int32_t>(rows, 2));
    write(schema::kMaskedPositions, {masked}, std::vector<int32_t>(masked, 1));
    write(schema::kMaskedIds, {masked}, std::vector<int32_t>(masked, 7));
    write(schema::kNextSentence, {rows}, std::vector<int32_t>(rows));
    file_.set_attribute(schema::kVersionAttribute, version);
  }
  void write_fixed(const std::vector<int32_t>& mask, uint64_t segment_columns = 4) {
    const uint64_t rows = mask.size() / 4;
    write(schema::kInputIds, {rows, 4}, std::vector<int32_t>(rows * 4));
    write(schema::kInputMask, {rows, 4}, mask);
    write(schema::kSegmentIds, {rows, segment_columns},
          std::vector<int32_t>(rows * segment_columns));
    write(schema::kMaskedPositions, {rows, 2}, std::vector<int32_t>(rows * 2));
    write(schema::kMaskedIds, {rows, 2}, std::vector<int32_t>(rows * 2));
    write(schema::kNextSentence, {rows}, std::vector<int32_t>(rows));
  }

  // Replaces data sets by ones of these shapes without stored values.
  using Shapes = std::vector<std::pair<const char*, std::vector<hsize_t>>>;
  std::string error_of_unwritten(const Shapes& shapes) {
    write_file_atomically(path_, file_.image());
    {
      const hdf5::Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
      for (const auto& [name, shape] : shapes) {
        if (H5Lexists(file.get(), name, H5P_DEFAULT) > 0) H5Ldelete(file.get(), name, H5P_DEFAULT);
        const int rank = static_cast<int>(shape.size());
        const hdf5::Handle space(H5Screate_simple(rank, shape.data(), nullptr));
        const hdf5::Handle creation(H5Pcreate(H5P_DATASET_CREATE));
        std::vector<hsize_t> chunk = shape;
        for (hsize_t& extent : chunk) extent = std::clamp<hsize_t>(extent, 1, 2);
        H5Pset_chunk(creation.get(), rank, chunk.data());
        EXPECT_GE(hdf5::Handle(H5Dcreate2(file.get(), name, H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                          creation.get(), H5P_DEFAULT))
                      .get(),
                  0);
      }
    }
    return error_of([&] {
      const auto shard = open_shard(path_);
      shard->read_index();
      shard->documents();
    });
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "wrong.hdf5";
  hdf5::File file_ = hdf5::File::create_in_memory(path_);
};

TEST_F(WrongFile, ABooleanMaskIsAccepted) {
  write_fixed({1, 1, 1, 0, 1, 0, 0, 0});
  write_file_atomically(path_, file_.image());
  {
    const hdf5::Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Handle type(H5Tenum_create(H5T_STD_I8LE));
    const int8_t no = 0, yes = 1, mask[] = {1, 1, 1, 0, 1, 0, 0, 0}, labels[] = {1, 0};
    H5Tenum_insert(type.get(), "FALSE", &no);
    H5Tenum_insert(type.get(), "TRUE", &yes);
    const auto replace = [&](const char* name, const std::vector<hsize_t>& shape,
                             const int8_t* values) {
      H5Ldelete(file.get(), name, H5P_DEFAULT);
      const hdf5::Handle space(
          H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
      const hdf5::Handle set(H5Dcreate2(file.get(), name, type.get(), space.get(), H5P_DEFAULT,
                                        H5P_DEFAULT, H5P_DEFAULT));
      ASSERT_GE(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    };
    replace(schema::kInputMask, {2, 4}, mask);
    replace(schema::kNextSentence, {2}, labels);
  }
  const auto shard = open_shard(path_);
  EXPECT_EQ(shard->read_index().lengths, (std::vector<int32_t>{3, 1}));
  RawSample sample;
  shard->read(0, 3, 0, sample);
  EXPECT_EQ(sample.next_sentence, 1);
  shard->read(1, 1, 0, sample);
  EXPECT_EQ(sample.next_sentence, 0);
}

TEST_F(WrongFile, AFileWithoutInstancesIsNamedWithItsDataSets) {
  write("other", {1}, {1});
  const std::string message = error();
  EXPECT_TRUE(contains(message, "wrong.hdf5: holds no pretraining instances")) << message;
  EXPECT_TRUE(contains(message, "(other)")) << message;
}

TEST_F(WrongFile, SeveralSamplesPerRowAreRefused) {
  write("packed_input_len", {1}, {1});
  EXPECT_TRUE(contains(error(), "several samples packed into each row"));
}

TEST_F(WrongFile, AMissingColumnIsNamed) {
  write(schema::kInputIds, {2, 4}, std::vector<int32_t>(8));
  EXPECT_TRUE(contains(error(), "wrong.hdf5: data set 'input_mask': cannot open"));
}

TEST_F(WrongFile, AWrongShapeIsNamedWithTheRightOne) {
  write_fixed({1, 1, 0, 0}, 3);
  EXPECT_TRUE(contains(error(), "'segment_ids int32 [1, 3]' must be of the shape of input_ids"));
}

TEST_F(WrongFile, AFloatColumnIsNamed) {
  const std::vector<int32_t> values(4);
  file_.write(schema::kInputIds, H5T_IEEE_F32LE, {1, 4}, values.data());
  EXPECT_TRUE(contains(error(), "'input_ids float32 [1, 4]' must be integers of 2 dimensions"));
}

TEST_F(WrongFile, PaddingInTheMiddleIsNamedByRowAndColumn) {
  write_fixed({1, 1, 0, 0, 1, 0, 1, 0});
  EXPECT_TRUE(contains(error(), "row 1 has 1 at column 2 after the zero at column 1"));
}

TEST_F(WrongFile, AnotherVersionIsNamedWithTheExpectedOne) {
  write_packed({0, 0, 4, 1}, 4, 1, 9);
  EXPECT_TRUE(contains(error(), "attribute 'format_version' is 9, but this program reads 1"));
}

TEST_F(WrongFile, FallingOffsetsAreNamedByRow) {
  write_packed({0, 0, 4, 1, 3, 1}, 4, 1);
  EXPECT_TRUE(contains(error(), "data set 'offsets' has [3, 1] at row 2 after [4, 1], but"));
}

TEST_F(WrongFile, OffsetsThatBeginAboveZeroAreNamedWithoutARowBefore) {
  write_packed({1, 0, 4, 1}, 4, 1);
  EXPECT_TRUE(contains(error(), "data set 'offsets' has [1, 0] at row 0, but rows must start at"));
}

TEST_F(WrongFile, TooFewTokensForTheOffsetsAreNamed) {
  write_packed({0, 0, 4, 1, 9, 1}, 8, 1);
  EXPECT_TRUE(contains(error(), "data set 'tokens int32 [8]' must be 9 long"));
}

// A few kilobytes of file would be read as billions of rows.
TEST_F(WrongFile, UnwrittenRowsAreNamed) {
  write_packed({0, 0, 4, 1}, 4, 1);
  constexpr hsize_t kRows = UINT32_MAX;
  EXPECT_TRUE(contains(error_of_unwritten({{schema::kOffsets, {kRows, 2}},
                                           {schema::kFirstLengths, {kRows - 1}},
                                           {schema::kNextSentence, {kRows - 1}}}),
                       "wrong.hdf5: data set 'offsets int32 [4294967295, 2]' was written only in "
                       "part; make the file again"));
}

TEST_F(WrongFile, AnUnwrittenMaskIsNamed) {
  write_fixed({1, 1, 0, 0});
  EXPECT_TRUE(contains(error_of_unwritten({{schema::kInputMask, {1, 4}}}),
                       "'input_mask int32 [1, 4]' was written only in part"));
}

TEST_F(WrongFile, EmptyAndHugeRowsAreNamed) {
  write_fixed({1, 1, 0, 0});
  const auto error_of_size = [&](hsize_t rows, hsize_t columns, hsize_t predictions) {
    return error_of_unwritten({{schema::kInputIds, {rows, columns}},
                               {schema::kInputMask, {rows, columns}},
                               {schema::kSegmentIds, {rows, columns}},
                               {schema::kMaskedPositions, {rows, predictions}},
                               {schema::kMaskedIds, {rows, predictions}},
                               {schema::kNextSentence, {rows}}});
  };
  // 2^64 elements in a block of the first.
  for (const hsize_t columns : {hsize_t{1} << 50, hsize_t{1} << 32}) {
    EXPECT_TRUE(contains(error_of_size(1 << 14, columns, 2), "must be 1 to 1048576 wide"));
    EXPECT_TRUE(contains(error_of_size(1 << 14, 4, columns), "must be at most 1048576 wide"));
  }
  EXPECT_TRUE(contains(error_of_size(UINT32_MAX, 0, 0), "must be 1 to 1048576 wide"));
}

TEST_F(WrongFile, AWrongNumberOfDocumentsIsNamed) {
  write_packed({0, 0, 4, 1}, 4, 1);
  EXPECT_TRUE(contains(error_of_unwritten({{schema::kDocuments, {hsize_t{1} << 62, 2}}}),
                       "'documents int32 [4611686018427387904, 2]' must be [samples, 2]"));
}

TEST_F(WrongFile, AFirstSegmentLongerThanTheSampleIsNamedByRow) {
  write_packed({0, 0, 1, 0}, 1, 0);
  write_file_atomically(path_, file_.image());
  const auto shard = open_shard(path_);
  RawSample sample;
  EXPECT_TRUE(contains(error_of([&] { shard->read(0, 1, 0, sample); }),
                       "'first_segment_lengths' has 2 at row 0, whose length is 1"));
}

}  // namespace
}  // namespace strata::data
