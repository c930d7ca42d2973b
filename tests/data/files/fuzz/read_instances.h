// Runs every query on a file of instances.
#pragma once

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "data/files/instance_file.h"
#include "data/files/instance_shard.h"

namespace strata::fuzz {

// `isolated`: reads in another process, which hides crashes of the HDF5 library.
inline void read_instances(const std::filesystem::path& path, bool isolated = true) {
  try {
    isolated ? data::describe_instance_file(path) : data::describe_hdf5(path);
  } catch (const Error&) {
  }
  try {
    const auto source = data::open_instances(path, {.isolated = isolated});
    data::PackedBatch batch;
    for (uint32_t sample = 0; sample < std::min(source->size(), 100u); ++sample) {
      try {
        source->read({&sample, 1}, batch);
      } catch (const Error&) {
      }
    }
    source->documents();
  } catch (const Error&) {
  }
}

}  // namespace strata::fuzz
