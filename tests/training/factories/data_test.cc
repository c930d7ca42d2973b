#include "training/factories/data.h"

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

using testing_support::error_of;

class DataFactory : public testing_support::TemporaryDirectory {};

TEST_F(DataFactory, SamplesLongerThanTheModelAreRefused) {
  const auto path = directory_ / "data.hdf5";
  data::InstanceFileInfo info;
  info.vocabulary_size = kSmallVocabulary;
  info.max_length = 32;
  info.max_predictions = 8;
  data::write_instances(path, counting_instances(20), info);
  bert::BertConfig model = small_bert();
  EXPECT_EQ(open_data({path}, {}, model)->size(), 20u);
  EXPECT_EQ(open_data({path, directory_}, {}, model)->size(), 40u);
  model.max_positions = 20;
  const std::string error = error_of([&] { open_data({path}, {}, model); });
  EXPECT_THAT(error, HasSubstr(path.string()));
  EXPECT_THAT(error, HasSubstr("but samples may have only 1 to 20"));
  model.max_positions = 32;
  const std::string long_samples = error_of([&] { open_data({path}, {.max_length = 20}, model); });
  EXPECT_THAT(long_samples, HasSubstr("data.max_length is 20"));
  const std::string masked =
      error_of([&] { open_data({path}, {.max_predictions_per_seq = 2}, model); });
  EXPECT_THAT(masked, HasSubstr("data.max_predictions_per_seq is 2"));
}

}  // namespace
}  // namespace strata::training
