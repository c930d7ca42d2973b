// Everything that a file of instances can be asked.
#pragma once

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "data/files/instance_file.h"

namespace strata::fuzz {

inline void read_instances(const std::filesystem::path& path) {
  try {
    data::describe_instance_file(path);
  } catch (const Error&) {
  }
  try {
    const auto source = data::open_instances(path);
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
