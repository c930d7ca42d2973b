#include "data/files/tfrecord_shard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "base/files/crc32c.h"
#include "data/files/convert.h"
#include "data/text/corpus.h"
#include "data/text/pretraining_instances.h"
#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

const std::filesystem::path kReference = kGolden / "reference/mlperf_reference.tfrecord";

TEST(TfrecordShard, ReadsTheReferencesFile) {
  const nlohmann::json golden = read_golden("reference/mlperf_reference.json");
  const auto shard = open_shard(kReference);
  const ShardIndex index = shard->read_index();
  ASSERT_EQ(index.lengths.size(), golden["instances"].size());
  RawSample sample;
  for (size_t row = 0; row < index.lengths.size(); ++row) {
    const nlohmann::json& expected = golden["instances"][row];
    shard->read(static_cast<uint32_t>(row), index.lengths[row], index.masked_counts[row], sample);
    EXPECT_EQ(sample.tokens, expected["input_ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(sample.segments, expected["segment_ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(sample.masked_positions, expected["masked_lm_positions"].get<std::vector<int32_t>>());
    EXPECT_EQ(sample.masked_ids, expected["masked_lm_ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(sample.next_sentence, expected["next_sentence_label"].get<int32_t>());
  }
  EXPECT_TRUE(shard->documents().empty());
}

TEST(TfrecordShard, DescribesItself) {
  const InstanceFileInfo info = describe_instance_file(kReference);
  EXPECT_EQ(info.form, InstanceForm::kMlperfTfrecord);
  EXPECT_EQ(form_name(info.form), "mlperf-tfrecord");
  EXPECT_EQ(info.samples, 76u);
  EXPECT_EQ(info.max_length, 24);
  EXPECT_EQ(info.max_predictions, 4);
  EXPECT_EQ(info.data_sets.front(), "input_ids int64 [24]");
  EXPECT_TRUE(contains(error_of([] { parse_form("mlperf-tfrecord"); }), "is unknown"));
}

TEST(TfrecordShard, ADirectoryOfMlperfsNamesIsADataSet) {
  TemporaryDirectory directory;
  for (const char* name : {"part-00001-of-00002", "part-00000-of-00002", "eval.tfrecord"}) {
    std::filesystem::copy_file(kReference, directory / name);
  }
  write_file_atomically(directory / "part-1.md5", "not data");
  EXPECT_EQ(open_instances(directory.path())->size(), 3 * 76u);
}

// After conversion the file equals the result of 'strata data mlperf' for the same text, except for
// its statements about its origin.
TEST(TfrecordShard, ConversionKeepsTheInstances) {
  TemporaryDirectory directory;
  convert_instances(std::span(&kReference, 1), directory / "x.hdf5", InstanceForm::kPacked, 182);
  const Instances converted = load_instances(*open_instances(directory / "x.hdf5"));
  const Vocabulary vocabulary = Vocabulary::read(kGolden / "data/wordpiece_vocab.txt");
  const std::filesystem::path text = kGolden / "reference/mlperf_reference.txt";
  const Instances made = make_reference_instances(
      read_raw_text(std::span(&text, 1), vocabulary, 1),
      {.max_length = 24, .max_predictions = 4, .dupe_factor = 3}, vocabulary);
  EXPECT_EQ(converted.tokens, made.tokens);
  EXPECT_EQ(converted.token_offsets, made.token_offsets);
  EXPECT_EQ(converted.first_lengths, made.first_lengths);
  EXPECT_EQ(converted.masked_positions, made.masked_positions);
  EXPECT_EQ(converted.masked_ids, made.masked_ids);
  EXPECT_EQ(converted.next_sentence, made.next_sentence);
}

// Files of one record with a defect.
class WrongRecord : public testing::Test {
 protected:
  using Integers = std::vector<int64_t>;

  WrongRecord() {
    integers_ = {{"input_ids", {2, 7, 3, 8, 3, 0}},   {"input_mask", {1, 1, 1, 1, 1, 0}},
                 {"segment_ids", {0, 0, 0, 1, 1, 0}}, {"masked_lm_positions", {1, 3, 0}},
                 {"masked_lm_ids", {9, 9, 0}},        {"next_sentence_labels", {1}}};
    weights_ = {1, 1, 0};
  }

  std::string example(bool packed) const {
    std::string features;
    protozero::pbf_writer map(features);
    const auto add = [&](const std::string& name, const std::string& list, int kind) {
      std::string feature, entry;
      protozero::pbf_writer(feature).add_message(static_cast<uint32_t>(kind), list);
      protozero::pbf_writer writer(entry);
      writer.add_string(1, name);
      writer.add_message(2, feature);
      map.add_message(1, entry);
    };
    for (const auto& [name, values] : integers_) {
      std::string list;
      protozero::pbf_writer writer(list);
      if (packed) {
        writer.add_packed_int64(1, values.begin(), values.end());
      } else {
        for (const int64_t value : values) writer.add_int64(1, value);
      }
      add(name, list, 3);
    }
    if (!weights_.empty()) {
      std::string list;
      protozero::pbf_writer writer(list);
      if (packed) {
        writer.add_packed_float(1, weights_.begin(), weights_.end());
      } else {
        for (const float value : weights_) writer.add_float(1, value);
      }
      add("masked_lm_weights", list, 2);
    }
    std::string bytes;
    protozero::pbf_writer(bytes).add_message(1, features);
    return bytes;
  }
  void write(const std::string& record) {
    const auto bytes_of = [](auto value) {
      std::string bytes(sizeof value, '\0');
      std::memcpy(bytes.data(), &value, sizeof value);
      return bytes;
    };
    const std::string length = bytes_of(static_cast<uint64_t>(record.size()));
    write_file_atomically(
        path_, length + bytes_of(masked_crc32c(length)) + record + bytes_of(masked_crc32c(record)));
  }
  std::string error() {
    write(example(true));
    return error_of([&] {
      PackedBatch batch;
      const uint32_t first = 0;
      open_instances(path_)->read(std::span(&first, 1), batch);
    });
  }
  void expect_error(const std::string& part) {
    const std::string message = error();
    EXPECT_TRUE(contains(message, "x.tfrecord")) << message;
    EXPECT_TRUE(contains(message, part)) << message;
  }

  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "x.tfrecord";
  std::map<std::string, Integers> integers_;
  std::vector<float> weights_;
};

TEST_F(WrongRecord, ARightRecordIsReadInEveryEncoding) {
  for (const bool packed : {true, false}) {
    write(example(packed));
    RawSample sample;
    open_shard(path_)->read(0, 5, 2, sample);
    EXPECT_EQ(sample.tokens, (std::vector<int32_t>{2, 7, 3, 8, 3}));
    EXPECT_EQ(sample.segments, (std::vector<int32_t>{0, 0, 0, 1, 1}));
    EXPECT_EQ(sample.masked_positions, (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(sample.masked_ids, (std::vector<int32_t>{9, 9}));
    EXPECT_EQ(sample.next_sentence, 1);
  }
  weights_.clear();  // positions suffice
  write(example(true));
  EXPECT_EQ(open_shard(path_)->read_index().masked_counts, std::vector<int32_t>{2});
}

TEST_F(WrongRecord, AMissingFeatureIsNamedWithTheExistingOnes) {
  integers_.erase("segment_ids");
  expect_error(
      "record 0 at byte 0: is not a pretraining instance: it lacks the integers 'segment_ids'");
  expect_error("masked_lm_weights float32 [3]");
}

TEST_F(WrongRecord, WrongSizesAreNamed) {
  integers_["input_mask"].pop_back();
  expect_error("has 5 values of 'input_mask' instead of 6");
}

TEST_F(WrongRecord, PaddingInTheMiddleIsNamedByColumn) {
  integers_["input_mask"] = {1, 1, 0, 1, 1, 0};
  expect_error("'input_mask' has 1 at column 3 after the zero at column 2");
}

// Otherwise targets would be lost silently.
TEST_F(WrongRecord, AWrongNumberOfWeightsIsRefused) {
  weights_ = {1, 1, 1, 1, 1};
  expect_error("has 5 values of 'masked_lm_weights' instead of 3");
  weights_ = {1};
  expect_error("has 1 values of 'masked_lm_weights' instead of 3");
}

TEST_F(WrongRecord, IntegerWeightsAreRead) {
  weights_.clear();
  integers_["masked_lm_weights"] = {1, 1, 0};
  write(example(true));
  EXPECT_EQ(open_shard(path_)->read_index().masked_counts, std::vector<int32_t>{2});
}

TEST_F(WrongRecord, MissingIntegerIdsAreNamed) {
  integers_.erase("masked_lm_ids");
  expect_error("lacks the integers 'masked_lm_ids'");
}

TEST_F(WrongRecord, NumbersBeyondTokenIdsAreNamed) {
  integers_["input_ids"][1] = int64_t{1} << 40;
  expect_error("its 'input_ids' has 1099511627776");
  integers_["input_ids"][1] = 40000;
  expect_error("token id 40000");
}

TEST_F(WrongRecord, AFileWithADamagedHeaderIsStillRecognised) {
  write(example(true));
  std::string bytes = read_file(path_);
  bytes[2] ^= 1;
  write_file_atomically(path_, bytes);
  EXPECT_TRUE(contains(error_of([&] { open_shard(path_); }), "record 0 at byte 0: its length"));
  const std::filesystem::path part = directory_ / "part-00000-of-00001";
  write_file_atomically(part, "A sentence.\nAnother.\n");
  EXPECT_TRUE(contains(error_of([&] { open_shard(part); }), "'strata data mlperf'"));
  std::filesystem::copy_file(kGolden / "data/mlperf_fixed.hdf5", part,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(open_shard(part)->read_index().lengths.size(), 3u);
}

TEST_F(WrongRecord, CompressedFilesAreNamed) {
  write(example(true));
  const auto error_of_bytes = [&](const std::string& bytes) {
    write_file_atomically(path_, bytes);
    return error_of([&] { open_shard(path_); });
  };
  EXPECT_TRUE(contains(error_of_bytes(std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10)),
                       "uncompress it: gunzip -c FILE > NEW.tfrecord"));
  const std::filesystem::path hdf5 = directory_ / "train.hdf5.gz";
  write_file_atomically(hdf5, "\x1f\x8b");
  EXPECT_TRUE(contains(error_of([&] { open_shard(hdf5); }), "gunzip -c FILE > NEW.hdf5"));
  for (const char* header : {"\x78\x01", "\x78\x9c", "\x78\xda"}) {
    EXPECT_TRUE(contains(error_of_bytes(header + std::string(20, 'x')), "compressed with zlib"));
  }
  const TemporaryDirectory folder;
  write_file_atomically(folder / "part-00000-of-00001.gz", "\x1f\x8b");
  EXPECT_TRUE(contains(error_of([&] { open_instances(folder.path()); }),
                       "uncompress part-00000-of-00001.gz with gunzip"));
}

TEST_F(WrongRecord, OtherContentsAreRefused) {
  write("\x0a\x7f no protocol buffer");
  EXPECT_TRUE(contains(error_of([&] { open_shard(path_); }), "is not a tf.train.Example"));
}

}  // namespace
}  // namespace strata::data
