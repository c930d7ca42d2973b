#include "training/factories/weights.h"

#include "bert/weights/safetensors.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class WeightsFactory : public testing_support::TemporaryDirectory {};

TEST_F(WeightsFactory, WeightsComeFromTheCheckpointAndMissingOnesAreReported) {
  const bert::ParameterLayout layout(small_bert());
  std::string told;
  const auto describe = [&](const std::string& line) { told += line + "\n"; };
  config::RunConfig config;
  EXPECT_EQ(make_weights(config, layout, 4, describe), bert::random_weights(layout, 4));
  EXPECT_THAT(told, HasSubstr("random"));

  std::vector<bert::NamedTensor> tensors;
  const bert::HostWeights stored = bert::random_weights(layout, 5);
  for (const bert::Parameter& p : layout.all) {
    if (p.name == "cls/seq_relationship/output_bias") continue;
    tensors.push_back(
        {p.hugging_face,
         p.rows == 1 ? std::vector<int64_t>{p.cols} : std::vector<int64_t>{p.rows, p.cols},
         {stored.data() + p.offset, static_cast<size_t>(p.size())}});
  }
  const std::vector<float> one{1};
  tensors.push_back({"bert.embeddings.position_ids", {1}, one});
  config.model.checkpoint = directory_ / "model.safetensors";
  bert::write_safetensors(*config.model.checkpoint, tensors);
  EXPECT_EQ(make_weights(config, layout, 4, describe), stored);
  EXPECT_THAT(told, HasSubstr("cls/seq_relationship/output_bias"));
  EXPECT_THAT(told, HasSubstr("lacks them: bert.embeddings.position_ids"));
}

}  // namespace
}  // namespace strata::training
