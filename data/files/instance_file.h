// Pretraining instances on disk: opening data sets of any supported form, reading samples at
// random, and writing. docs/data.md describes the forms.
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
  kMlperfTfrecord,  // MLPerf's TFRecords, which are only read
};

// "packed", "mlperf-fixed", "mlperf-varlen", "mlperf-tfrecord"; parsing throws Error for anything
// but the first three, which can be written.
std::string_view form_name(InstanceForm form);
InstanceForm parse_form(std::string_view name);

// What the reader of a data set can take.
struct InstanceLimits {
  int32_t vocabulary_size = 30522;  // token ids are below it; checked in every sample read
  int32_t max_length = 512;         // tokens of a sample; checked when the data set is opened
  // Whether HDF5's variable-length rows are read. The library trusts the places a file gives for
  // them, so a hostile file may have it read and write anywhere in its process.
  bool variable_length = false;
  // Whether HDF5 is read in another process, which damaged files crash in place of this one.
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

  // Replaces the contents of `out` by the named samples, in the order given; repeats are allowed.
  // May be called from any thread. Throws Error naming the file, the sample, the position and the
  // value where an index is out of range or a sample is malformed.
  virtual void read(std::span<const uint32_t> sample_indices, PackedBatch& out) const = 0;

  // Documents the two sentences of a sample come from; empty where the files do not say.
  // [2 * size()], read from disk at each call.
  virtual std::vector<uint32_t> documents() const = 0;
};

// Whether a file of this name is taken for data in a directory: *.hdf5, *.h5, *.tfrecord and
// part-NNNNN-of-NNNNN.
bool is_named_as_data(const std::filesystem::path& path);

// Opens a data set: each path is a file or a directory, which stands for its files named as data,
// in order of name. Reads no samples. Where write_index wrote an index, it is mapped; else lengths
// and masked counts are read from every file: the MLPerf forms have their mask and position
// columns, or all records, scanned for them. Throws Error for a missing, truncated or wrong-schema
// file, for an empty data set and for an index of other data.
std::unique_ptr<InstanceSource> open_instances(std::span<const std::filesystem::path> paths,
                                               const InstanceLimits& limits = {});
std::unique_ptr<InstanceSource> open_instances(const std::filesystem::path& path,
                                               const InstanceLimits& limits = {});

// Writes the index of a data set to index_path(paths[0]), which opening it will then use. Lengths
// and masked counts are taken from the files, whether there is one or not. `variable_length`: see
// InstanceLimits. Returns the number of samples. Throws as open_instances.
uint32_t write_index(std::span<const std::filesystem::path> paths, bool variable_length = false);

// What a file says about itself beside its samples; zero or empty where it does not.
struct InstanceFileInfo {
  InstanceForm form = InstanceForm::kPacked;
  uint64_t samples = 0;
  int32_t vocabulary_size = 0;
  int32_t max_length = 0;
  int32_t max_predictions = 0;
  uint64_t seed = 0;
  std::string text_hash;               // of the raw text, 16 hexadecimal digits
  std::string made_from;               // inputs and options, as JSON in one line
  std::vector<std::string> data_sets;  // "name type [shape]", for people
};

InstanceFileInfo describe_instance_file(const std::filesystem::path& path);

// Writes `instances` to `path`, all or nothing: an existing file is replaced only by a whole one,
// and its index is removed.
// Attributes are taken from `info` (form, vocabulary_size, max_length, max_predictions, seed,
// text_hash, made_from). The file is built in memory first. Throws Error where the directory cannot
// be written, the disk is full, or the instances do not fit the form.
void write_instances(const std::filesystem::path& path, const Instances& instances,
                     const InstanceFileInfo& info);

}  // namespace strata::data
