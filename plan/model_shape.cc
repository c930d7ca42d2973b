#include "plan/model_shape.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace strata::plan {
namespace {

using nlohmann::json;

int64_t dimension(const json& fields, const char* key, int64_t most, const std::string& name) {
  const auto found = fields.find(key);
  if (found == fields.end() || !found->is_number_integer() || found->get<int64_t>() < 1 ||
      found->get<int64_t>() > most) {
    fail("{}: \"{}\" is {}, a whole number from 1 to {} was expected", name, key,
         found == fields.end()
             ? "missing"
             : found->dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 80),
         most);
  }
  return found->get<int64_t>();
}

}  // namespace

ModelShape shape_of(const ModelDimensions& dimensions) {
  const auto h = static_cast<double>(dimensions.hidden);
  const auto i = static_cast<double>(dimensions.intermediate);
  const auto v = static_cast<double>(dimensions.vocabulary);
  const auto layers = static_cast<double>(dimensions.layers);
  ModelShape shape;
  shape.layers = dimensions.layers;
  shape.hidden = dimensions.hidden;
  shape.intermediate = dimensions.intermediate;
  shape.heads = dimensions.heads;
  // A layer has four matrices of attention and two of feed-forward with biases, and two LayerNorms.
  shape.layer_parameters = 4 * h * h + 2 * h * i + 9 * h + i;
  const double embeddings =
      (v + static_cast<double>(dimensions.positions + dimensions.types) + 2) * h;
  // Heads have the transform, its LayerNorm, a bias per word, the pooler and the next-sentence
  // layer.
  const double heads = 2 * (h * h + h) + 2 * h + v + 2 * h + 2;
  shape.parameters = layers * shape.layer_parameters + embeddings + heads;
  constexpr double kMasked = 0.15;
  shape.heads_share = kMasked * (v + h) / (layers * (4 * h + 2 * i));
  shape.tail = v * h / shape.parameters;
  return shape;
}

ModelShape parse_model_shape(std::string_view text, const std::string& name) {
  const json fields = json::parse(text, nullptr, false);
  if (!fields.is_object()) fail("{}: is not a JSON object", name);
  constexpr int64_t kMost = 1 << 24;
  const auto of = [&](const char* key) { return dimension(fields, key, kMost, name); };
  ModelDimensions dimensions{.layers = dimension(fields, "num_hidden_layers", 10'000, name),
                             .hidden = of("hidden_size"),
                             .intermediate = of("intermediate_size"),
                             .heads = of("num_attention_heads"),
                             .vocabulary = of("vocab_size"),
                             .positions = of("max_position_embeddings")};
  if (fields.contains("type_vocab_size")) dimensions.types = of("type_vocab_size");
  if (dimensions.hidden % dimensions.heads != 0) {
    fail("{}: \"num_attention_heads\" {} does not divide \"hidden_size\" {}", name,
         dimensions.heads, dimensions.hidden);
  }
  ModelShape shape = shape_of(dimensions);
  shape.longest = std::min(shape.longest, static_cast<double>(dimensions.positions));
  shape.mean_tokens = std::min(shape.mean_tokens, shape.longest);
  return shape;
}

}  // namespace strata::plan
