#include "bert/weights.h"

#include <fmt/ranges.h>

#include <cmath>
#include <numbers>
#include <set>

#include "base/error.h"
#include "bert/safetensors.h"
#include "device/dropout.h"

namespace strata::bert {
namespace {

// Uniform in (0, 1), from a counter.
double uniform(uint64_t key, uint64_t counter) {
  return (static_cast<double>(device::splitmix64(key ^ device::splitmix64(counter)) >> 11) + 0.5) *
         0x1p-53;
}

// Box-Muller; values beyond two deviations are drawn again from the next counters.
float truncated_normal(uint64_t key, uint64_t element) {
  for (uint64_t draw = 0;; ++draw) {
    const uint64_t counter = (element << 16) + 2 * draw;
    const double value = std::sqrt(-2.0 * std::log(uniform(key, counter))) *
                         std::cos(2.0 * std::numbers::pi * uniform(key, counter + 1));
    if (std::abs(value) <= 2.0) return static_cast<float>(0.02 * value);
  }
}

bool is_gain(const Parameter& p) { return p.name.ends_with("/gamma"); }

void initialise(const Parameter& p, uint64_t seed, HostWeights& weights) {
  float* values = weights.data() + p.offset;
  for (int64_t i = 0; i < p.size(); ++i) {
    values[i] = p.decay      ? truncated_normal(seed, static_cast<uint64_t>(p.offset + i))
                : is_gain(p) ? 1.0f
                             : 0.0f;
  }
}

bool may_be_missing(const Parameter& p) {
  return p.name.starts_with("cls/") || p.name.starts_with("bert/pooler/");
}

// Files of BertModel lack the "bert." prefix; old ones call LayerNorm's vectors gamma and beta.
std::vector<std::string> spellings(const Parameter& p) {
  std::vector<std::string> names{p.hugging_face};
  const auto add_variants = [&](const std::string& from, const std::string& to) {
    const size_t count = names.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = names[i].rfind(from);
      if (at == std::string::npos) continue;
      names.push_back(std::string(names[i]).replace(at, from.size(), to));
    }
  };
  if (p.name.find("LayerNorm") != std::string::npos) {
    add_variants("LayerNorm.weight", "LayerNorm.gamma");
    add_variants("LayerNorm.bias", "LayerNorm.beta");
  }
  if (p.hugging_face.starts_with("bert.")) {
    const size_t count = names.size();
    for (size_t i = 0; i < count; ++i) names.push_back(names[i].substr(5));
  }
  return names;
}

std::vector<int64_t> shape_of(const Parameter& p) {
  const bool vector = p.rows == 1;
  return vector ? std::vector<int64_t>{p.cols} : std::vector<int64_t>{p.rows, p.cols};
}

}  // namespace

HostWeights random_weights(const ParameterLayout& layout, uint64_t seed) {
  HostWeights weights(static_cast<size_t>(layout.size), 0.0f);
  for (const Parameter& p : layout.all) initialise(p, seed, weights);
  return weights;
}

LoadedWeights load_weights(const ParameterLayout& layout, const std::filesystem::path& path,
                           uint64_t seed) {
  const SafetensorsFile file(path);
  LoadedWeights loaded{HostWeights(static_cast<size_t>(layout.size), 0.0f), {}, {}};
  std::set<std::string> used;
  for (const Parameter& p : layout.all) {
    std::string stored;
    for (const std::string& name : spellings(p)) {
      if (file.tensors().contains(name)) stored = name;
    }
    if (stored.empty()) {
      if (!may_be_missing(p)) {
        fail(
            "{}: lacks the tensor \"{}\" of this model; do model.config and model.checkpoint "
            "belong together?",
            path.string(), p.hugging_face);
      }
      loaded.initialised.push_back(p.name);
      initialise(p, seed, loaded.values);
      continue;
    }
    const auto& shape = file.tensors().at(stored).shape;
    if (shape != shape_of(p)) {
      fail(
          "{}: tensor \"{}\" has shape [{}], the model's is [{}]; do model.config and "
          "model.checkpoint "
          "belong together?",
          path.string(), stored, fmt::join(shape, ", "), fmt::join(shape_of(p), ", "));
    }
    file.read(stored, {loaded.values.data() + p.offset, static_cast<size_t>(p.size())});
    used.insert(stored);
  }
  for (const std::string& name : loaded.initialised) {
    if (name != layout.transform.weight.name) continue;
    float* transform = loaded.values.data() + layout.transform.weight.offset;
    const int64_t hidden = layout.transform.weight.cols;
    for (int64_t i = 0; i < hidden * hidden; ++i)
      transform[i] = i % (hidden + 1) == 0 ? 1.0f : 0.0f;
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!used.contains(name)) loaded.unused.push_back(name);
  }
  return loaded;
}

void save_weights(const ParameterLayout& layout, const HostWeights& weights,
                  const std::filesystem::path& path) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : layout.all) {
    tensors.push_back(
        {p.hugging_face, shape_of(p), {weights.data() + p.offset, static_cast<size_t>(p.size())}});
  }
  write_safetensors(path, tensors);
}

}  // namespace strata::bert
