// Pretraining instances on disk: opens data sets of any supported form, reads samples at random,
// and writes. docs/data.md describes the forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/packed_batch.h"
#include "data/files/sample_index.h"
#include "data/text/instances.h"

namespace strata::data {

enum class InstanceForm {
  kPacked,          // Strata's own: flat arrays and offsets, any sample in O(1)
  kMlperfFixed,     // MLPerf, rows padded to the maximum length
  kMlperfVariable,  // MLPerf, variable-length rows
  kMlperfTfrecord,  // MLPerf's TFRecords, read-only
};

// Names: "packed", "mlperf-fixed", "mlperf-varlen", "mlperf-tfrecord". Parsing throws Error for
// anything but the first three, which can be written.
std::string_view form_name(InstanceForm form);
InstanceForm parse_form(std::string_view name);

// Limits of the program that reads a data set.
struct InstanceLimits {
  int32_t vocabulary_size = 30522;  // exclusive limit of token ids; checked in every sample read
  int32_t max_length = 512;  // maximum tokens of a sample; checked when the data set is opened
  // Allow HDF5's variable-length rows. The library trusts their addresses in a file, so a hostile
  // file may make it read and write anywhere in its process.
  bool variable_length = false;
  // Read HDF5 in another process, so that damaged files cannot crash this one.
  bool isolated = true;
};

// A data set: samples 0 .. size()-1, over one file or several shards in order.
class InstanceSource {
 public:
  virtual ~InstanceSource() = default;

  // Lengths and masked counts of every sample.
  virtual const SampleIndex& index() const = 0;
  uint32_t size() const { return index().size(); }
  std::span<const uint16_t> lengths() const { return index().lengths(); }
  std::span<const uint16_t> masked_counts() const { return index().masked_counts(); }

  // Replaces the contents of `out` by the given samples, in this order; repeats are allowed.
  // Thread-safe. Throws Error naming the file, the sample, the position and the value if an index
  // is out of range or a sample is malformed.
  virtual void read(std::span<const uint32_t> sample_indices, PackedBatch& out) const = 0;

  // Documents of the two sentences of each sample, [2 * size()]; empty if the files do not name
  // them. Reads from disk at each call.
  virtual std::vector<uint32_t> documents() const = 0;
};

// True if a directory's file of this name is read as data: *.hdf5, *.h5, *.tfrecord and
// part-NNNNN-of-NNNNN.
bool is_named_as_data(const std::filesystem::path& path);

// Opens a data set. Each path is a file, or a directory whose data files are read in order of name.
// Reads no samples. Maps the index if write_index() wrote one. Otherwise reads lengths and masked
// counts from every file, which scans the mask and position columns, or all records, of MLPerf's
// forms. Throws Error for a missing, truncated or wrong-schema file, for an empty data set and for
// an index of other data.
std::unique_ptr<InstanceSource> open_instances(std::span<const std::filesystem::path> paths,
                                               const InstanceLimits& limits = {});
std::unique_ptr<InstanceSource> open_instances(const std::filesystem::path& path,
                                               const InstanceLimits& limits = {});

// Writes the index of a data set to index_path(paths[0]), where open_instances() finds it. Reads
// lengths and masked counts from the files even if an index exists. `variable_length`: see
// InstanceLimits. Returns the number of samples. Throws as open_instances.
uint32_t write_index(std::span<const std::filesystem::path> paths, bool variable_length = false);

// Facts that a file states besides its samples; zero or empty if missing.
struct InstanceFileInfo {
  InstanceForm form = InstanceForm::kPacked;
  uint64_t samples = 0;
  int32_t vocabulary_size = 0;
  int32_t max_length = 0;
  int32_t max_predictions = 0;
  uint64_t seed = 0;
  std::string text_hash;               // hash of the raw text, 16 hexadecimal digits
  std::string made_from;               // inputs and options, as JSON on one line
  std::vector<std::string> data_sets;  // "name type [shape]", for users
};

InstanceFileInfo describe_instance_file(const std::filesystem::path& path);

// Writes `instances` to `path` atomically and removes the index of an existing file. Takes
// attributes from `info` (form, vocabulary_size, max_length, max_predictions, seed, text_hash,
// made_from). Builds the file in memory first. Throws Error if the directory cannot be written, the
// disk is full, or the instances do not fit the form.
void write_instances(const std::filesystem::path& path, const Instances& instances,
                     const InstanceFileInfo& info);

}  // namespace strata::data
