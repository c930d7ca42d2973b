#include "training/factories/checks.h"

#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

using testing_support::error_of;

class Checks : public testing_support::TemporaryDirectory {};

TEST_F(Checks, AVocabularyOfAnotherSizeIsRefused) {
  config::RunConfig config;
  config.model.config = "tiny";
  config.model.vocab = directory_ / "vocab.txt";
  write_file_atomically(*config.model.vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  const std::string error = error_of([&] { check_vocabulary(config, make_bert_config(config)); });
  EXPECT_THAT(error, HasSubstr(config.model.vocab->string()));
  EXPECT_THAT(error, HasSubstr("5 entries"));
  EXPECT_THAT(error, HasSubstr("30522"));
}

TEST_F(Checks, EveryModuleNeedsALayerAndRanksAreOneFewer) {
  config::RunConfig config;
  config.model.config = "tiny";
  config.ouroboros.modules = 3;
  const bert::BertConfig model = small_bert(3);
  EXPECT_NO_THROW(check_stages(config, model, 2));
  EXPECT_EQ(error_of([&] { check_stages(config, model, 3); }),
            "ouroboros.modules: 3 modules need 2 ranks, not 3; start 2");
  EXPECT_EQ(error_of([&] { check_stages(config, small_bert(5), 4); }),
            "ouroboros.modules: 3 modules need 2 ranks, not 4; start 2, or use 5 modules");
  EXPECT_EQ(error_of([&] { check_stages(config, small_bert(2), 2); }),
            "ouroboros.modules: 3 modules need one layer each, but tiny has 2; use fewer modules");
  EXPECT_EQ(error_of([&] { check_one_stage(config); }),
            "ouroboros.modules: 3: this command measures only steps without delay; set it to 1");
}

TEST_F(Checks, SaysWhichDataIsNotThere) {
  config::DataConfig data{.train = {directory_}, .eval = {directory_ / "none.hdf5"}};
  const std::string error = error_of([&] { check_data_paths(data); });
  EXPECT_THAT(error, HasSubstr("data.eval: " + (directory_ / "none.hdf5").string()));
  data.eval = {directory_};
  EXPECT_NO_THROW(check_data_paths(data));
}

}  // namespace
}  // namespace strata::training
