// Reads HDF5 files in another process. The library trusts a file's contents, so a damaged file may
// crash it, hang it or make it read beyond its buffers.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/files/instance_file.h"
#include "data/files/instance_shard.h"

namespace strata::data {

// Opens an HDF5 file like open_shard(). Also throws Error if the library crashes on the file or
// does not end. All shards of a program share one process. Thread-safe.
std::unique_ptr<InstanceShard> open_isolated(const std::filesystem::path& path,
                                             bool variable_length);

// A row of any shard, with lengths from the index.
struct ShardRow {
  std::shared_ptr<const InstanceShard> shard;
  uint32_t row = 0;
  int32_t length = 0, masked_count = 0;
};

// Reads rows of any shards into samples[0 .. rows.size()), those of isolated shards with one
// message. Throws as InstanceShard::read().
void read_rows(std::span<const ShardRow> rows, std::vector<RawSample>& samples);

// Like describe_hdf5(), in the other process.
InstanceFileInfo describe_isolated(const std::filesystem::path& path);

}  // namespace strata::data
