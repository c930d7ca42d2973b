#include "data/files/instance_file.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "data/files/instance_shard.h"
#include "data/files/isolated_shard.h"
#include "data/files/part_name.h"
#include "data/files/tfrecord_shard.h"

namespace strata::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<InstanceForm, std::string_view>, 4> kForms = {{
    {InstanceForm::kPacked, "packed"},
    {InstanceForm::kMlperfFixed, "mlperf-fixed"},
    {InstanceForm::kMlperfVariable, "mlperf-varlen"},
    {InstanceForm::kMlperfTfrecord, "mlperf-tfrecord"},
}};

// Returns how many shards a process keeps open at most: half of its limit of open files (`ulimit
// -n`, often 1024), but no more than 512, enough for the 500 shards of MLPerf's training set.
size_t most_open_shards() {
  constexpr size_t kMost = 512;
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost / 2;
  return std::min<rlim_t>(limit.rlim_cur / 2, kMost);
}

// Counts the open shards of a source, and of the process.
class OpenShards {
 public:
  OpenShards() = default;
  ~OpenShards() { of_process_ -= of_source_; }
  OpenShards(const OpenShards&) = delete;
  OpenShards& operator=(const OpenShards&) = delete;

  void opened() { ++of_source_, ++of_process_; }
  void closed() { --of_source_, --of_process_; }
  // True if the source must close a shard before it opens another one. Even when a large source has
  // many open, each source may keep a few open.
  bool full() const { return of_process_ >= most_ && of_source_ >= std::max<size_t>(most_ / 8, 1); }

 private:
  static inline std::atomic<size_t> of_process_ = 0;
  const size_t most_ = most_open_shards();
  size_t of_source_ = 0;
};

std::vector<fs::path> list_files(std::span<const fs::path> paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> inside = list_directory(path);
    const auto compressed = std::ranges::find(inside, ".gz", &fs::path::extension);
    const std::string hint =
        compressed == inside.end()
            ? ""
            : fmt::format("; uncompress {} with gunzip", compressed->filename().string());
    std::erase_if(inside, [](const fs::path& file) { return !is_named_as_data(file); });
    if (inside.empty() && !hint.empty()) {
      fail("{}: holds no *.hdf5, *.h5, *.tfrecord or part-* file{}", path.string(), hint);
    }
    if (inside.empty()) {
      fail(
          "{}: holds no *.hdf5, *.h5, *.tfrecord or part-* file; make one with 'strata data "
          "prepare'",
          path.string());
    }
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::vector<IndexedFile> describe(std::span<const fs::path> files) {
  std::vector<IndexedFile> described;
  for (const fs::path& file : files) {
    std::error_code error;
    const auto bytes = fs::file_size(file, error);
    if (error) fail("{}: {}", file.string(), error.message());
    described.push_back({.name = file.filename().string(), .bytes = bytes});
  }
  return described;
}

class ShardedSource : public InstanceSource {
 public:
  // `indexed`: the index file, or null to read the index from the files.
  ShardedSource(std::vector<fs::path> files, const InstanceLimits& limits,
                const fs::path* indexed = nullptr)
      : files_(std::move(files)),
        limits_(limits),
        shards_(files_.size()),
        last_use_(files_.size()) {
    if (indexed) {
      open_index(*indexed);
    } else {
      read_index();
    }
  }

  const SampleIndex& index() const override { return *index_; }

  void write_index(const fs::path& path) const {
    std::vector<IndexedFile> described = describe(files_);
    for (size_t file = 0; file < files_.size(); ++file) {
      described[file].samples = starts_[file + 1] - starts_[file];
    }
    index_->write(path, described);
  }

  void read(std::span<const uint32_t> sample_indices, PackedBatch& out) const override {
    out.tokens.clear();
    out.segments.clear();
    out.positions.clear();
    out.cu_seqlens.assign(1, 0);
    out.masked_positions.clear();
    out.masked_ids.clear();
    out.next_sentence.clear();
    out.sample_ids.clear();
    for (size_t done = 0; done < sample_indices.size();) {
      const auto some = sample_indices.subspan(done);
      done += read_some(some.first(std::min(some.size(), kSamplesAtOnce)), out);
    }
  }

  std::vector<uint32_t> documents() const override {
    std::vector<uint32_t> documents;
    for (size_t file = 0; file < files_.size(); ++file) {
      const std::vector<uint32_t> part = shard(file)->documents();
      documents.insert(documents.end(), part.begin(), part.end());
    }
    if (documents.size() != size_t{2} * size()) documents.clear();
    return documents;
  }

 private:
  // Small enough that the shards of these samples may all be open in addition to
  // most_open_shards().
  static constexpr size_t kSamplesAtOnce = 16;

  // Appends samples to `out` and returns their number.
  size_t read_some(std::span<const uint32_t> sample_indices, PackedBatch& out) const {
    std::vector<ShardRow> rows;
    std::vector<size_t> files;
    for (const uint32_t index : sample_indices) {
      if (index >= size()) {
        fail("{}: there is no sample {}; the data set has {}", files_.front().string(), index,
             size());
      }
      const auto next = std::upper_bound(starts_.begin(), starts_.end(), uint64_t{index});
      files.push_back(static_cast<size_t>(next - starts_.begin()) - 1);
      rows.push_back({.row = static_cast<uint32_t>(index - starts_[files.back()]),
                      .length = lengths()[index],
                      .masked_count = masked_counts()[index]});
    }
    std::vector<RawSample> samples;
    try {
      for (size_t i = 0; i < rows.size(); ++i) rows[i].shard = shard(files[i]);
      read_rows(rows, samples);
    } catch (const ReadError&) {
      throw;
    } catch (const Error& error) {
      if (index_file_.empty()) throw;
      fail("{}; if the data was made again, {} is stale: make it again with 'strata data index'",
           error.what(), index_file_.string());
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      check_sample(files[i], rows[i].row, samples[i]);
      append(sample_indices[i], samples[i], out);
    }
    return rows.size();
  }

  // Opens a shard; keeps the most recently used shards open.
  std::shared_ptr<const InstanceShard> shard(size_t file) const {
    const std::lock_guard lock(mutex_);
    last_use_[file] = ++uses_;
    if (shards_[file]) return shards_[file];
    if (open_shards_.full()) {
      size_t oldest = file;
      for (size_t i = 0; i < shards_.size(); ++i) {
        if (shards_[i] && shards_[i]->is_open() && last_use_[i] < last_use_[oldest]) oldest = i;
      }
      shards_[oldest].reset();
      open_shards_.closed();
    }
    shards_[file] = open(files_[file]);
    if (shards_[file]->is_open()) open_shards_.opened();
    return shards_[file];
  }

  std::shared_ptr<const InstanceShard> open(const fs::path& file) const {
    if (limits_.isolated && !is_tfrecord(file)) return open_isolated(file, limits_.variable_length);
    return open_shard(file, limits_.variable_length);
  }

  void read_index() {
    std::vector<uint16_t> lengths, masked_counts;
    for (size_t file = 0; file < files_.size(); ++file) {
      const ShardIndex index = shard(file)->read_index();
      check_index(file, index);
      lengths.insert(lengths.end(), index.lengths.begin(), index.lengths.end());
      masked_counts.insert(masked_counts.end(), index.masked_counts.begin(),
                           index.masked_counts.end());
      starts_.push_back(lengths.size());
    }
    if (lengths.empty()) {
      fail("{}: the data set has no samples; make it again from more text",
           files_.empty() ? "no path" : files_.front().string());
    }
    if (lengths.size() > UINT32_MAX) {
      fail("{}: the data set has {} samples, more than 4294967295; give fewer shards",
           files_.front().string(), lengths.size());
    }
    index_.emplace(std::move(lengths), std::move(masked_counts));
  }

  void open_index(const fs::path& path) {
    index_.emplace(SampleIndex::open(path, describe(files_)));
    index_file_ = path;
    shard(0);  // refuses a wrong form now, not in the first batch
    for (const IndexedFile& file : index_->files()) {
      starts_.push_back(starts_.back() + file.samples);
    }
    for (const SampleClass& c : index_->classes().all()) {
      if (c.length >= 1 && static_cast<int64_t>(c.length) <= most_tokens() && c.masked <= c.length)
        continue;
      fail(
          "{}: {} samples have {} tokens and {} masked positions, but samples may have only 1 to "
          "{} tokens; give a model with more positions, or other data",
          path.string(), c.count, c.length, c.masked, most_tokens());
    }
  }

  // Lengths are stored in 16 bits.
  int32_t most_tokens() const { return std::min<int32_t>(limits_.max_length, UINT16_MAX); }

  void check_index(size_t file, const ShardIndex& index) const {
    for (size_t row = 0; row < index.lengths.size(); ++row) {
      const int32_t length = index.lengths[row];
      if (length < 1 || length > most_tokens()) {
        fail(
            "{}: row {} has {} tokens, but samples may have only 1 to {}; give a model with more "
            "positions, or other data",
            files_[file].string(), row, length, most_tokens());
      }
      if (index.masked_counts[row] > length) {
        fail("{}: row {} has {} masked positions but only {} tokens; make the file again",
             files_[file].string(), row, index.masked_counts[row], length);
      }
    }
  }

  void check_sample(size_t file, uint32_t row, const RawSample& sample) const {
    const std::string& name = files_[file].string();
    const auto check_ids = [&](const std::vector<int32_t>& ids, std::string_view what) {
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= limits_.vocabulary_size) {
          fail(
              "{}: row {} has the {} {} at position {}, beyond the vocabulary of {} entries; use "
              "the vocabulary the file was made with",
              name, row, what, ids[i], i, limits_.vocabulary_size);
        }
      }
    };
    check_ids(sample.tokens, "token id");
    check_ids(sample.masked_ids, "masked token id");
    for (size_t i = 0; i < sample.segments.size(); ++i) {
      if (sample.segments[i] != 0 && sample.segments[i] != 1) {
        fail("{}: row {} has segment id {} at position {}; it must be 0 or 1", name, row,
             sample.segments[i], i);
      }
    }
    int32_t before = -1;
    for (size_t i = 0; i < sample.masked_positions.size(); ++i) {
      const int32_t position = sample.masked_positions[i];
      if (position <= before || static_cast<size_t>(position) >= sample.tokens.size()) {
        fail(
            "{}: row {} has {} as masked position number {}; masked positions must increase and be "
            "below the sample's {} tokens",
            name, row, position, i, sample.tokens.size());
      }
      before = position;
    }
    if (sample.next_sentence != 0 && sample.next_sentence != 1) {
      fail("{}: row {} has the next-sentence label {}; it must be 0 or 1", name, row,
           sample.next_sentence);
    }
  }

  static void append(uint32_t index, const RawSample& sample, PackedBatch& out) {
    const auto first = static_cast<int32_t>(out.tokens.size());
    out.tokens.insert(out.tokens.end(), sample.tokens.begin(), sample.tokens.end());
    out.segments.insert(out.segments.end(), sample.segments.begin(), sample.segments.end());
    for (size_t i = 0; i < sample.tokens.size(); ++i) {
      out.positions.push_back(static_cast<int32_t>(i));
    }
    out.cu_seqlens.push_back(static_cast<int32_t>(out.tokens.size()));
    for (const int32_t position : sample.masked_positions) {
      out.masked_positions.push_back(first + position);
    }
    out.masked_ids.insert(out.masked_ids.end(), sample.masked_ids.begin(), sample.masked_ids.end());
    out.next_sentence.push_back(sample.next_sentence);
    out.sample_ids.push_back(index);
  }

  std::vector<fs::path> files_;
  InstanceLimits limits_;
  std::vector<uint64_t> starts_ = {0};  // first sample of each file, then the number of samples
  std::optional<SampleIndex> index_;
  fs::path index_file_;  // empty if the index was read from the files themselves

  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const InstanceShard>> shards_;  // null while closed
  mutable std::vector<uint64_t> last_use_;
  mutable uint64_t uses_ = 0;
  mutable OpenShards open_shards_;
};

}  // namespace

bool is_named_as_data(const fs::path& path) {
  const fs::path extension = path.extension();
  return extension == ".hdf5" || extension == ".h5" || extension == ".tfrecord" ||
         parse_part(path.filename().string());
}

std::string_view form_name(InstanceForm form) {
  const auto is_form = [&](const auto& entry) { return entry.first == form; };
  return std::find_if(kForms.begin(), kForms.end(), is_form)->second;
}

InstanceForm parse_form(std::string_view name) {
  for (const auto& [form, known] : kForms) {
    if (known == name && form != InstanceForm::kMlperfTfrecord) return form;
  }
  fail("format '{}' is unknown; use packed, mlperf-fixed or mlperf-varlen", name);
}

std::unique_ptr<InstanceSource> open_instances(std::span<const fs::path> paths,
                                               const InstanceLimits& limits) {
  const std::vector<fs::path> files = list_files(paths);
  const fs::path indexed = paths.empty() ? fs::path() : index_path(paths.front());
  const bool has_index = !indexed.empty() && fs::exists(indexed);
  return std::make_unique<ShardedSource>(files, limits, has_index ? &indexed : nullptr);
}

uint32_t write_index(std::span<const fs::path> paths, bool variable_length) {
  const ShardedSource source(list_files(paths), {INT32_MAX, INT32_MAX, variable_length});
  source.write_index(index_path(paths.front()));
  return source.size();
}

std::unique_ptr<InstanceSource> open_instances(const fs::path& path, const InstanceLimits& limits) {
  return open_instances(std::span(&path, 1), limits);
}

InstanceFileInfo describe_instance_file(const fs::path& path) {
  return is_tfrecord(path) ? TfrecordShard(path).describe() : describe_isolated(path);
}

}  // namespace strata::data
