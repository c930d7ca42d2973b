// A checkpoint is a folder with a part for every rank.
#pragma once

#include <deque>
#include <filesystem>
#include <vector>

#include "device/backend.h"
#include "training/checkpoint/checkpoint_file.h"
#include "training/checkpoint/training_state.h"

namespace strata::training {

// Returns the path of a rank's part.
std::filesystem::path part_path(const std::filesystem::path& folder, int rank);

// Opens all parts of a checkpoint. Throws Error if a part is missing, is not a checkpoint file, or
// belongs to another checkpoint than the first part.
std::deque<CheckpointFile> open_checkpoint(const std::filesystem::path& folder);

// Overwrites all elements that the arrays hold, whichever ranks wrote them. Throws Error if the
// parts lack some of them or have another dtype: the checkpoint then belongs to another model.
void restore(const std::deque<CheckpointFile>& parts, const std::vector<StateArray>& arrays,
             device::Backend& backend);

}  // namespace strata::training
