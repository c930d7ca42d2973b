#include "bert/weights/weights.h"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/range.h"
#include "base/threads/parallel.h"
#include "bert/weights/normal_draws.h"
#include "bert/weights/other_file.h"
#include "bert/weights/safetensors.h"
#include "bert/weights/sharded_safetensors.h"
#include "bert/weights/tensorflow_checkpoint.h"

namespace strata::bert {
namespace {

bool is_gain(const Parameter& p) { return p.name.ends_with("/gamma"); }

// Initialises the elements of `p` that lie in `range` of the arena.
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

// Returns zeros. Most of the time goes to the kernel's clearing of new pages, so threads share it
// where the kernel allows.
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
      // Requires Linux 5.14. Older kernels refuse, and clear pages when they are written.
      ::madvise(reinterpret_cast<void*>(at), std::min(kPart, end - at), MADV_POPULATE_WRITE);
    });
  }
#endif
  weights.resize(static_cast<size_t>(size));
  return weights;
}

void initialise(std::span<const Parameter> parameters, uint64_t seed, unsigned threads,
                HostWeights& weights) {
  constexpr size_t kPart = size_t{1} << 18;  // in elements: about a millisecond of work
  parallel_for((weights.size() + kPart - 1) / kPart, threads, [&](size_t part) {
    const auto begin = static_cast<int64_t>(part * kPart);
    const Range range{begin, begin + static_cast<int64_t>(kPart)};
    for (const Parameter& p : parameters) initialise(p, range, seed, weights);
  });
}

bool may_be_missing(const Parameter& p) {
  return p.name.starts_with("cls/") || p.name.starts_with("bert/pooler/");
}

// Second names of a tensor in safetensors. Hugging Face's files may hold both or only the second.
constexpr std::pair<std::string_view, std::string_view> kCopies[] = {
    {"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
    {"cls.predictions.bias", "cls.predictions.decoder.bias"},
};

// Returns a parameter's possible names in safetensors. Files of BertModel lack the "bert." prefix;
// old ones call LayerNorm's vectors gamma and beta.
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
  for (const auto& [name, copy] : kCopies) {
    if (name == p.hugging_face) names.emplace_back(copy);
  }
  return names;
}

// True if a tensor that the model does not use cannot change its results.
bool is_harmless_tensor(std::string_view name) {
  constexpr std::string_view kLastParts[] = {
      "position_ids", "token_type_ids",            // constants of the embeddings
      "adam_m",       "adam_v",         "lamb_m",  // optimizer state
      "lamb_v",       "Adam",           "Adam_1",         "Momentum",
      "exp_avg",      "exp_avg_sq",     "momentum_buffer"};
  constexpr std::string_view kCounters[] = {"global_step", "beta1_power", "beta2_power",
                                            "good_steps",  "loss_scale",  "current_loss_scale"};
  if (std::ranges::count(kCounters, name) > 0) return true;
  for (const std::string_view pooler : {"bert.pooler.", "pooler.", "bert/pooler/"}) {
    if (name.starts_with(pooler)) return true;
  }
  const size_t end_of_path = name.find_last_of("./");
  return std::ranges::count(kLastParts, name.substr(end_of_path + 1)) > 0;  // npos + 1 is 0
}

std::vector<int64_t> shape_of(const Parameter& p) {
  const bool vector = p.rows == 1;
  return vector ? std::vector<int64_t>{p.cols} : std::vector<int64_t>{p.rows, p.cols};
}

// `from` is [rows, cols], `to` is [cols, rows].
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

// A file of weights with the names and shapes of its format.
struct WeightFile {
  std::unique_ptr<TensorFile> tensors;
  bool is_tensorflow = false;

  std::vector<std::string> names_of(const Parameter& p) const {
    return is_tensorflow ? std::vector<std::string>{p.name} : spellings(p);
  }
  // TensorFlow's matrices are [in, out].
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

// Weights of one kind of LayerNorm are wrong in a model with another kind.
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
      "{}: has the weights of a model with {}, but this model has {}; set model.norm to {}, or "
      "model.checkpoint to none",
      path.string(), is.what, wanted.what, is.key);
}

WeightFile open_weights(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  std::filesystem::path prefix = path;
  if (ending == ".index" || ending == ".meta" || ending.starts_with(".data-")) {
    prefix.replace_extension();
  }
  if (TensorFlowCheckpoint::exists(prefix)) {
    std::filesystem::path index = prefix;
    index += ".index";
    refuse_other_file(index);
    return {std::make_unique<TensorFlowCheckpoint>(prefix), true};
  }
  if (ShardedSafetensors::is_index(path)) return {std::make_unique<ShardedSafetensors>(path)};
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    fail(
        "{0}: there is no such file, and no {0}.index of a TensorFlow checkpoint; check "
        "model.checkpoint",
        path.string());
  }
  if (prefix != path) {
    fail("{}: is part of a TensorFlow checkpoint, but {}.index is missing; fetch that file, too",
         path.string(), prefix.string());
  }
  refuse_other_file(path);
  if (const std::string number = shard_number(path); !number.empty()) {
    fail("{}: is shard {}; give the index of all shards: {}", path.string(), number,
         (path.parent_path() / "model.safetensors.index.json").string());
  }
  return {std::make_unique<SafetensorsFile>(path)};
}

// Reads the parameters of a model one by one.
class ParameterReader {
 public:
  ParameterReader(const WeightFile& file, const ParameterLayout& layout,
                  const std::filesystem::path& path)
      : file_(file), layout_(layout), path_(path.string()) {}

  // Returns the file's tensors that hold `p`. If there are several, all must be equal.
  std::vector<std::string> find(const Parameter& p) const {
    std::vector<std::string> names = file_.names_of(p);
    std::erase_if(names, [&](const auto& name) { return !tensors().contains(name); });
    return names;
  }

  // Reads the first of `names` into `values` [p.size()]. Throws Error if another one differs.
  void read(const std::vector<std::string>& names, const Parameter& p, float* values) {
    read_one(names.front(), p, values);
    for (size_t i = 1; i < names.size(); ++i) {
      std::vector<float> copy(static_cast<size_t>(p.size()));
      read_one(names[i], p, copy.data());
      if (std::ranges::equal(copy, std::span(values, copy.size()))) continue;
      fail(
          "{}: tensors \"{}\" and \"{}\" must be equal{}, but they differ; give weights that BERT "
          "can "
          "use",
          path_, names.front(), names[i],
          is_vocabulary(p) ? " (BERT's output weights are its word embeddings)" : "");
    }
  }

  int64_t padding_rows() const { return padding_rows_; }

 private:
  const std::map<std::string, StoredTensor>& tensors() const { return file_.tensors->tensors(); }

  bool is_vocabulary(const Parameter& p) const {
    return p.name == layout_.word_embeddings.name || p.name == layout_.masked_lm_bias.name;
  }

  // Returns the number of rows by which the file's padded vocabulary exceeds the model's.
  int64_t padding_of(const Parameter& p, const std::vector<int64_t>& shape,
                     const std::vector<int64_t>& wanted) const {
    const bool fits = is_vocabulary(p) && shape.size() == wanted.size() &&
                      std::equal(shape.begin() + 1, shape.end(), wanted.begin() + 1) &&
                      is_padded_vocabulary(shape[0], wanted[0]);
    return fits ? shape[0] - wanted[0] : 0;
  }

  void read_one(const std::string& name, const Parameter& p, float* values) {
    const std::vector<int64_t> shape = tensors().at(name).shape, wanted = file_.shape_of(p);
    if (shape == wanted) {
      file_.read(name, p, values);
      return refuse_non_finite(name, {values, static_cast<size_t>(p.size())});
    }
    const int64_t padding = padding_of(p, shape, wanted);
    if (padding == 0) {
      fail(
          "{}: tensor \"{}\" has shape [{}], but the model's has [{}]; give the model.config that "
          "belongs to model.checkpoint",
          path_, name, fmt::join(shape, ", "), fmt::join(wanted, ", "));
    }
    std::vector<float> stored(static_cast<size_t>(tensors().at(name).size()));
    file_.tensors->read(name, stored);
    std::copy_n(stored.begin(), p.size(), values);
    refuse_non_finite(name, {values, static_cast<size_t>(p.size())});
    padding_rows_ = padding;
  }

  void refuse_non_finite(const std::string& name, std::span<const float> values) const {
    constexpr uint32_t kExponent = 0x7f800000;  // all ones only in infinity and NaN
    bool found = false;
    for (const float value : values)
      found |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
    if (!found) return;
    fail(
        "{}: tensor \"{}\" holds NaN or infinity, probably because its training diverged; give "
        "another checkpoint",
        path_, name);
  }

  const WeightFile& file_;
  const ParameterLayout& layout_;
  const std::string path_;
  int64_t padding_rows_ = 0;
};

// Throws Error naming the tensors that the model does not use and that are not harmless.
void refuse_unknown(const std::vector<std::string>& unused, const std::filesystem::path& path) {
  constexpr size_t kShown = 3;
  std::vector<std::string> unknown;
  for (const std::string& name : unused) {
    if (!is_harmless_tensor(name)) unknown.push_back(fmt::format("\"{}\"", name));
  }
  if (unknown.empty()) return;
  const size_t more = unknown.size() - std::min(unknown.size(), kShown);
  unknown.resize(unknown.size() - more);
  fail(
      "{}: has {}{}, for which this model has no parameter, so it would compute other results than "
      "the checkpoint's model; give the model.config that belongs to the checkpoint, or a "
      "checkpoint without {}",
      path.string(), fmt::join(unknown, ", "), more > 0 ? fmt::format(" and {} more", more) : "",
      unknown.size() + more > 1 ? "them" : "it");
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
  ParameterReader reader(file, layout, path);
  std::set<std::string> used;
  for (const Parameter& p : layout.all) {
    const std::vector<std::string> stored = reader.find(p);
    if (stored.empty()) {
      if (!may_be_missing(p)) {
        check_norms(tensors, layout, path);
        fail(
            "{}: lacks the tensor \"{}\" of this model; give the model.config that "
            "belongs to model.checkpoint",
            path.string(), file.names_of(p).front());
      }
      loaded.initialised.push_back(p.name);
      initialise(std::span(&p, 1), seed, threads, loaded.values);
      continue;
    }
    reader.read(stored, p, loaded.values.data() + p.offset);
    used.insert(stored.begin(), stored.end());
  }
  loaded.padding_rows = reader.padding_rows();
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
  refuse_unknown(loaded.unused, path);
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
