// One file of instances in any supported form; what is in it tells which.
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

// One sample as it stands in the file, not yet checked against anything but the file's schema.
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

  // Reads row `row`, of the length and masked count the index gave. Throws Error naming the file
  // and the row where the file no longer agrees with the index.
  virtual void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const = 0;

  // [2 * rows] or empty.
  virtual std::vector<uint32_t> documents() const = 0;

  // Whether it keeps a file open.
  virtual bool is_open() const { return true; }
};

// The values of a row before its padding of zeros. Throws Error, naming `what`, where others come
// after it.
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

// Opens a file of any form in this process, which a damaged HDF5 file may crash: open_isolated() is
// safe from that. Throws Error naming what is missing or of the wrong type or shape, and
// for variable-length rows unless `variable_length`.
std::unique_ptr<InstanceShard> open_shard(const std::filesystem::path& path,
                                          bool variable_length = false);

// Whether a file is to be read as TFRecords, by its name or its beginning. Throws Error for a
// compressed file, and for one with MLPerf's name for them that begins as neither they nor HDF5 do.
bool is_tfrecord(const std::filesystem::path& path);

// The form an HDF5 file's data sets show. Throws Error where they show none.
InstanceForm detect_form(const hdf5::File& file);

// describe_instance_file() of an HDF5 file, in this process.
InstanceFileInfo describe_hdf5(const std::filesystem::path& path);

}  // namespace strata::data
