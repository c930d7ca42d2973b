#include "bert/weights/weights.h"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>

#include "base/error.h"
#include "base/parallel.h"
#include "base/range.h"
#include "bert/weights/normal_draws.h"
#include "bert/weights/safetensors.h"
#include "bert/weights/tensorflow_checkpoint.h"

namespace strata::bert {
namespace {

bool is_gain(const Parameter& p) { return p.name.ends_with("/gamma"); }

// The elements of `p` that lie in `range` of the arena.
void initialise(const Parameter& p, const Range& range, uint64_t seed, HostWeights& weights) {
  const int64_t begin = std::max(p.offset, range.begin);
  const int64_t end = std::min(p.offset + p.size(), range.end);
  if (begin >= end) return;
  const std::span values(weights.data() + begin, weights.data() + end);
  if (p.decay) {
    draw_normals(seed, static_cast<uint64_t>(begin), values);
  } else {
    std::ranges::fill(values, is_gain(p) ? 1.0f : 0.0f);
  }
}

// Zeros. The kernel clears new pages, which takes most of the time, on all threads where it can.
HostWeights zeros(int64_t size, unsigned threads) {
  HostWeights weights;
  weights.reserve(static_cast<size_t>(size));
#ifdef MADV_POPULATE_WRITE
  constexpr size_t kPart = size_t{64} << 20;  // bytes
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(weights.data());
  const size_t begin = (address + page - 1) / page * page;
  const size_t end = (address + weights.capacity() * sizeof(float)) / page * page;
  if (begin < end) {
    parallel_for((end - begin + kPart - 1) / kPart, threads, [&](size_t part) {
      const size_t at = begin + part * kPart;
      // Linux 5.14. Older ones refuse: pages are then cleared as they are written.
      ::madvise(reinterpret_cast<void*>(at), std::min(kPart, end - at), MADV_POPULATE_WRITE);
    });
  }
#endif
  weights.resize(static_cast<size_t>(size));
  return weights;
}

void initialise(std::span<const Parameter> parameters, uint64_t seed, unsigned threads,
                HostWeights& weights) {
  constexpr size_t kPart = size_t{1} << 18;  // elements: about a millisecond
  parallel_for((weights.size() + kPart - 1) / kPart, threads, [&](size_t part) {
    const auto begin = static_cast<int64_t>(part * kPart);
    const Range range{begin, begin + static_cast<int64_t>(kPart)};
    for (const Parameter& p : parameters) initialise(p, range, seed, weights);
  });
}

bool may_be_missing(const Parameter& p) {
  return p.name.starts_with("cls/") || p.name.starts_with("bert/pooler/");
}

// In safetensors. Files of BertModel lack the "bert." prefix; old ones call LayerNorm's vectors
// gamma and beta.
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

// `from` is [rows, cols], `to` [cols, rows].
void transpose(const float* from, int64_t rows, int64_t cols, float* to) {
  constexpr int64_t kTile = 32;  // a tile's lines stay in the first-level cache
  for (int64_t top = 0; top < rows; top += kTile) {
    for (int64_t left = 0; left < cols; left += kTile) {
      for (int64_t col = left; col < std::min(left + kTile, cols); ++col) {
        for (int64_t row = top; row < std::min(top + kTile, rows); ++row) {
          to[col * rows + row] = from[row * cols + col];
        }
      }
    }
  }
}

// A file of weights by the names and in the shapes of its format.
struct WeightFile {
  std::unique_ptr<TensorFile> tensors;
  bool is_tensorflow = false;

  std::vector<std::string> names_of(const Parameter& p) const {
    return is_tensorflow ? std::vector<std::string>{p.name} : spellings(p);
  }
  // TensorFlow multiplies by matrices of [in, out].
  bool transposes(const Parameter& p) const { return is_tensorflow && p.name.ends_with("/kernel"); }
  std::vector<int64_t> shape_of(const Parameter& p) const {
    return transposes(p) ? std::vector<int64_t>{p.cols, p.rows} : bert::shape_of(p);
  }
  void read(const std::string& name, const Parameter& p, float* values) const {
    const auto size = static_cast<size_t>(p.size());
    if (!transposes(p)) return tensors->read(name, {values, size});
    std::vector<float> stored(size);
    tensors->read(name, stored);
    transpose(stored.data(), p.cols, p.rows, values);
  }
};

// Weights of one kind of layer mean something else in another.
void check_norms(const std::map<std::string, StoredTensor>& tensors, const ParameterLayout& layout,
                 const std::filesystem::path& path) {
  const auto has = [&](const char* part) {
    return std::ranges::any_of(
        tensors, [&](const auto& tensor) { return tensor.first.find(part) != std::string::npos; });
  };
  struct Kind {
    Norm norm;
    bool found;
    const char* what;
    const char* key;
  };
  const Kind kinds[] = {
      {Norm::kPre, has("PreAttentionLayerNorm"), "LayerNorm before every sublayer", "pre"},
      {Norm::kPost, has("attention.output.LayerNorm") || has("attention/output/LayerNorm"),
       "LayerNorm after every sublayer", "post"},
      {Norm::kNone, has("attention.output.Affine") || has("attention/output/Affine"),
       "no LayerNorm", "none"}};
  if (std::ranges::count_if(kinds, &Kind::found) != 1) return;
  const Kind& is = *std::ranges::find_if(kinds, &Kind::found);
  const Kind& wanted = *std::ranges::find(kinds, layout.norm, &Kind::norm);
  if (is.norm == wanted.norm) return;
  fail(
      "{}: has the weights of a model with {}, which are of no use to one with {}; set model.norm "
      "to {}, or model.checkpoint to none",
      path.string(), is.what, wanted.what, is.key);
}

WeightFile open_weights(const std::filesystem::path& path) {
  std::filesystem::path prefix = path;
  if (path.extension() == ".index" || path.extension().string().starts_with(".data-")) {
    prefix.replace_extension();
  }
  if (TensorFlowCheckpoint::exists(prefix)) {
    return {std::make_unique<TensorFlowCheckpoint>(prefix), true};
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    fail(
        "{}: neither a safetensors file nor, with .index behind it, a TensorFlow checkpoint; check "
        "model.checkpoint",
        path.string());
  }
  return {std::make_unique<SafetensorsFile>(path), false};
}

}  // namespace

HostWeights random_weights(const ParameterLayout& layout, uint64_t seed, unsigned threads) {
  HostWeights weights = zeros(layout.size, threads);
  initialise(layout.all, seed, threads, weights);
  return weights;
}

LoadedWeights load_weights(const ParameterLayout& layout, const std::filesystem::path& path,
                           uint64_t seed, unsigned threads) {
  const WeightFile file = open_weights(path);
  const std::map<std::string, StoredTensor>& tensors = file.tensors->tensors();
  LoadedWeights loaded{zeros(layout.size, threads), {}, {}};
  std::set<std::string> used;
  for (const Parameter& p : layout.all) {
    std::string stored;
    const std::vector<std::string> names = file.names_of(p);
    for (const std::string& name : names) {
      if (tensors.contains(name)) stored = name;
    }
    if (stored.empty()) {
      if (!may_be_missing(p)) {
        check_norms(tensors, layout, path);
        fail(
            "{}: lacks the tensor \"{}\" of this model; do model.config and model.checkpoint "
            "belong together?",
            path.string(), names.front());
      }
      loaded.initialised.push_back(p.name);
      initialise(std::span(&p, 1), seed, threads, loaded.values);
      continue;
    }
    const std::vector<int64_t> shape = tensors.at(stored).shape, wanted = file.shape_of(p);
    if (shape != wanted) {
      fail(
          "{}: tensor \"{}\" has shape [{}], the model's is [{}]; do model.config and "
          "model.checkpoint "
          "belong together?",
          path.string(), stored, fmt::join(shape, ", "), fmt::join(wanted, ", "));
    }
    file.read(stored, p, loaded.values.data() + p.offset);
    used.insert(stored);
  }
  for (const std::string& name : loaded.initialised) {
    if (name != layout.transform.weight.name) continue;
    float* transform = loaded.values.data() + layout.transform.weight.offset;
    const int64_t hidden = layout.transform.weight.cols;
    for (int64_t i = 0; i < hidden * hidden; ++i)
      transform[i] = i % (hidden + 1) == 0 ? 1.0f : 0.0f;
  }
  for (const auto& [name, tensor] : tensors) {
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
