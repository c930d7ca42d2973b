// HDF5 files read in a process of their own: the library trusts what a file says, so a damaged one
// may crash it, hang it or have it read beyond its buffers.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/files/instance_file.h"
#include "data/files/instance_shard.h"

namespace strata::data {

// As open_shard(), for HDF5. Throws Error, too, if the library crashes on the file or does not end.
// All shards of a program share one process; they may be used from any thread.
std::unique_ptr<InstanceShard> open_isolated(const std::filesystem::path& path,
                                             bool variable_length);

// A row of any shard, with the lengths that the index gave.
struct ShardRow {
  std::shared_ptr<const InstanceShard> shard;
  uint32_t row = 0;
  int32_t length = 0, masked_count = 0;
};

// Reads rows of any shards into samples[0 .. rows.size()), isolated ones by one message. Throws as
// InstanceShard::read().
void read_rows(std::span<const ShardRow> rows, std::vector<RawSample>& samples);

// As describe_hdf5().
InstanceFileInfo describe_isolated(const std::filesystem::path& path);

}  // namespace strata::data
