#include <gtest/gtest.h>

#include "data/files/convert.h"
#include "data/files/instance_file.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class InstanceWriter : public testing::TestWithParam<InstanceForm> {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "x.hdf5";
};

TEST_P(InstanceWriter, WrittenInstancesAreReadBack) {
  const Instances written = sample_instances(40);
  write_instances(path_, written, sample_info(GetParam()));
  const auto source = open_instances(path_, {kSampleVocabulary, 40, true});
  EXPECT_EQ(source->documents(), written.documents);
  const Instances read = load_instances(*source);
  EXPECT_EQ(read.tokens, written.tokens);
  EXPECT_EQ(read.token_offsets, written.token_offsets);
  EXPECT_EQ(read.first_lengths, written.first_lengths);
  EXPECT_EQ(read.masked_positions, written.masked_positions);
  EXPECT_EQ(read.masked_ids, written.masked_ids);
  EXPECT_EQ(read.masked_offsets, written.masked_offsets);
  EXPECT_EQ(read.next_sentence, written.next_sentence);
}

TEST_P(InstanceWriter, TheFileDescribesItself) {
  write_instances(path_, sample_instances(7), sample_info(GetParam()));
  const InstanceFileInfo info = describe_instance_file(path_);
  EXPECT_EQ(info.form, GetParam());
  EXPECT_EQ(info.samples, 7u);
  EXPECT_EQ(info.vocabulary_size, kSampleVocabulary);
  EXPECT_EQ(info.max_length, 40);
  EXPECT_EQ(info.max_predictions, 10);
  EXPECT_EQ(info.seed, 77u);
  EXPECT_EQ(info.text_hash, "0123456789abcdef");
  EXPECT_EQ(info.made_from, "{}");
  EXPECT_GE(info.data_sets.size(), 6u);
}

TEST_P(InstanceWriter, EqualInstancesGiveEqualBytes) {
  write_instances(path_, sample_instances(20), sample_info(GetParam()));
  const std::string first = read_file(path_);
  write_instances(path_, sample_instances(20), sample_info(GetParam()));
  EXPECT_TRUE(read_file(path_) == first);
}

TEST_P(InstanceWriter, AFullDiskKeepsTheOldFileAndLeavesNothingElse) {
  write_instances(path_, sample_instances(3), sample_info(GetParam()));
  const std::string before = read_file(path_);
  {
    const FullDisk full_disk(1000);
    const std::string message =
        error_of([&] { write_instances(path_, sample_instances(500), sample_info(GetParam())); });
    EXPECT_TRUE(contains(message, "x.hdf5: cannot write: ")) << message;
  }
  EXPECT_TRUE(read_file(path_) == before);
  EXPECT_EQ(directory_.entries(), 1u);
}

TEST_P(InstanceWriter, ADirectoryThatCannotBeMadeIsNamed) {
  write_file_atomically(path_, "a file");
  EXPECT_TRUE(contains(error_of([&] {
                         write_instances(path_ / "below.hdf5", sample_instances(3),
                                         sample_info(GetParam()));
                       }),
                       "x.hdf5: cannot create directory: "));
}

TEST(InstanceWriterFixed, ASampleTooLongForItsRowIsRefused) {
  TemporaryDirectory directory;
  InstanceFileInfo info = sample_info(InstanceForm::kMlperfFixed);
  info.max_length = 10;
  EXPECT_TRUE(
      contains(error_of([&] { write_instances(directory / "x.hdf5", sample_instances(3), info); }),
               "x.hdf5: sample 1 has 12 tokens, but the fixed-length form holds 10"));
}

INSTANTIATE_TEST_SUITE_P(Forms, InstanceWriter, testing::ValuesIn(kAllForms), [](const auto& test) {
  std::string name(form_name(test.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace strata::data
