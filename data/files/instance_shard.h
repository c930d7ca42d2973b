// One file of instances, in any supported form, which is detected from its contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/files/instance_file.h"
#include "data/hdf5/hdf5.h"

namespace strata::data {

// One sample from a file, checked only against the file's schema.
struct RawSample {
  std::vector<int32_t> tokens;            // [length]
  std::vector<int32_t> segments;          // [length]
  std::vector<int32_t> masked_positions;  // [masked count]
  std::vector<int32_t> masked_ids;        // [masked count]
  int32_t next_sentence = 0;
};

// Tokens and masked positions of a file's samples, in order.
struct ShardIndex {
  std::vector<int32_t> lengths;
  std::vector<int32_t> masked_counts;
};

class InstanceShard {
 public:
  virtual ~InstanceShard() = default;
  virtual ShardIndex read_index() const = 0;

  // Reads row `row`, with the length and masked count from the index. Throws Error naming the file
  // and the row if the file no longer agrees with the index.
  virtual void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const = 0;

  // Documents, [2 * rows] or empty.
  virtual std::vector<uint32_t> documents() const = 0;

  // True if it keeps a file open.
  virtual bool is_open() const { return true; }
};

// Returns the number of values before a row's padding of zeros. Throws Error naming `what` if
// nonzero values follow the padding.
template <typename Number>
int32_t count_leading(std::span<const Number> row, std::string_view what) {
  const auto padding = std::find(row.begin(), row.end(), Number{0});
  const auto stray =
      std::find_if(padding, row.end(), [](Number value) { return value != Number{0}; });
  if (stray != row.end()) {
    fail("{} has {} at column {} after the zero at column {}; padding must come last", what, *stray,
         stray - row.begin(), padding - row.begin());
  }
  return static_cast<int32_t>(padding - row.begin());
}

// Opens a file of any form in this process, which a damaged HDF5 file may crash; open_isolated()
// avoids that. Throws Error naming the missing, wrongly typed or wrongly shaped data set, and for
// variable-length rows unless `variable_length`.
std::unique_ptr<InstanceShard> open_shard(const std::filesystem::path& path,
                                          bool variable_length = false);

// True if a file holds TFRecords, by its name or its first bytes. Throws Error for a compressed
// file, and for a file that is named like MLPerf's TFRecords but is neither TFRecords nor HDF5.
bool is_tfrecord(const std::filesystem::path& path);

// Returns the form that an HDF5 file's data sets have. Throws Error if they have none.
InstanceForm detect_form(const hdf5::File& file);

// Runs describe_instance_file() for an HDF5 file in this process.
InstanceFileInfo describe_hdf5(const std::filesystem::path& path);

}  // namespace strata::data
