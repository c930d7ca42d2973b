#include "data/files/convert.h"

#include <gtest/gtest.h>

#include "data/hdf5/hdf5.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

TEST(Convert, EveryFormTurnsIntoEveryOther) {
  TemporaryDirectory directory;
  const Instances instances = sample_instances(2000);
  for (const InstanceForm from : kAllForms) {
    const std::filesystem::path source = directory / "from.hdf5";
    write_instances(source, instances, sample_info(from));
    for (const InstanceForm to : kAllForms) {
      EXPECT_EQ(convert_instances(std::span(&source, 1), directory / "to.hdf5", to,
                                  kSampleVocabulary, true),
                2000u);
      // The bytes equal those of writing that form directly, so nothing is lost in the conversion.
      write_instances(directory / "direct.hdf5", instances, sample_info(to));
      EXPECT_TRUE(read_file(directory / "to.hdf5") == read_file(directory / "direct.hdf5"))
          << form_name(from) << " to " << form_name(to);
    }
  }
}

TEST(Convert, FilesWithoutAttributesGetTheirSizesFromTheData) {
  TemporaryDirectory directory;
  const std::vector<std::filesystem::path> from = {kGolden / "data/mlperf_varlen.hdf5",
                                                   kGolden / "data/mlperf_fixed.hdf5"};
  EXPECT_EQ(convert_instances(from, directory / "x.hdf5", InstanceForm::kPacked, 30522, true), 6u);
  const InstanceFileInfo info = describe_instance_file(directory / "x.hdf5");
  EXPECT_EQ(info.max_length, 16);
  EXPECT_EQ(info.max_predictions, 4);
  EXPECT_EQ(info.vocabulary_size, 30522);
  EXPECT_EQ(open_instances(directory / "x.hdf5")->size(), 6u);
}

TEST(Convert, ABadInputDoesNotReplaceTheOutput) {
  TemporaryDirectory directory;
  write_file_atomically(directory / "to.hdf5", "kept");
  const std::filesystem::path missing = directory / "missing.hdf5";
  EXPECT_THROW(convert_instances(std::span(&missing, 1), directory / "to.hdf5",
                                 InstanceForm::kPacked, 30522),
               Error);
  EXPECT_EQ(read_file(directory / "to.hdf5"), "kept");
}

TEST(Convert, SegmentsThatGoBackAreRefused) {
  TemporaryDirectory directory;
  const std::filesystem::path path = directory / "x.hdf5";
  hdf5::File file = hdf5::File::create_in_memory(path);
  const std::vector<int32_t> ids = {2, 7, 3, 3}, segments = {0, 1, 0, 1}, positions = {1},
                             labels = {0};
  file.write_variable("input_ids", H5T_STD_I16LE, ids, {0, 4});
  file.write_variable("segment_ids", H5T_STD_I8LE, segments, {0, 4});
  file.write_variable("masked_lm_positions", H5T_STD_I16LE, positions, {0, 1});
  file.write_variable("masked_lm_ids", H5T_STD_I16LE, positions, {0, 1});
  file.write("next_sentence_labels", H5T_STD_I8LE, {1}, labels.data());
  write_file_atomically(path, file.image());
  const auto source = open_instances(path, {.variable_length = true});
  EXPECT_TRUE(contains(error_of([&] { load_instances(*source); }),
                       "sample 0 has segment id 0 after segment id 1"));
}

}  // namespace
}  // namespace strata::data
