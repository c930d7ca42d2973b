// Converts between forms of instance files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "data/files/instance_file.h"
#include "data/files/packed_batch.h"
#include "data/text/instances.h"

namespace strata::data {

// Appends the samples of `batch`, without documents. Throws Error for a sample whose segments are
// not 0 ... 0 1 ... 1.
void append_samples(const PackedBatch& batch, Instances& out);

// Loads all samples of `source`, in order, with their documents if the files name them. Throws as
// append_samples does.
Instances load_instances(const InstanceSource& source);

// Rewrites a data set as one file of the form `form`, with the first file's statements about its
// origin. Sizes that no file states are those of the data: the longest sample, the most
// predictions. Holds the whole data set in memory, so large ones should be converted shard by
// shard. Returns the number of samples. `variable_length`: see InstanceLimits.
uint64_t convert_instances(std::span<const std::filesystem::path> from,
                           const std::filesystem::path& to, InstanceForm form,
                           int32_t vocabulary_size, bool variable_length = false);

}  // namespace strata::data
