#include "plan/model_shape.h"

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using testing_support::error_of;

constexpr const char* kConfig =
    R"({"vocab_size": 30522, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512})";

TEST(ModelShape, TheDefaultIsBertLarge) {
  const ModelShape shape = parse_model_shape(kConfig, "config.json"), large;
  EXPECT_EQ(shape.parameters, large.parameters);
  EXPECT_EQ(shape.layer_parameters, large.layer_parameters);
  EXPECT_NEAR(shape.tail, large.tail, 5e-4);
  EXPECT_NEAR(shape.heads_share, large.heads_share, 5e-4);
  EXPECT_EQ(shape.longest, 512);
  EXPECT_EQ(shape.mean_tokens, large.mean_tokens);
}

TEST(ModelShape, OtherFilesAreRefusedWithTheKey) {
  std::string none(kConfig), negative(kConfig), odd(kConfig);
  none.replace(none.find("hidden_size"), 6, "forbid");
  negative.replace(negative.find(": 24") + 2, 2, "-4");
  odd.replace(odd.find("16"), 2, "15");
  EXPECT_THAT(error_of([&] { parse_model_shape(none, "c.json"); }),
              HasSubstr("c.json: \"hidden_size\""));
  EXPECT_THAT(error_of([&] { parse_model_shape(negative, "c.json"); }),
              HasSubstr("\"num_hidden_layers\" is -4"));
  EXPECT_THAT(error_of([&] { parse_model_shape(odd, "c.json"); }),
              HasSubstr("num_attention_heads"));
  EXPECT_THAT(error_of([&] { parse_model_shape("[1]", "c.json"); }), HasSubstr("c.json"));
}

}  // namespace
}  // namespace strata::plan
