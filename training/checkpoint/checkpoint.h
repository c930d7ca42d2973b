// A checkpoint: a folder that holds every rank's part, and what is put back from it.
#pragma once

#include <deque>
#include <filesystem>
#include <vector>

#include "device/backend.h"
#include "training/checkpoint/checkpoint_file.h"
#include "training/checkpoint/training_state.h"

namespace strata::training {

// Where a rank's part lies.
std::filesystem::path part_path(const std::filesystem::path& folder, int rank);

// All parts of a checkpoint. Throws Error where one is missing, is no such file, or is of another
// checkpoint than the first.
std::deque<CheckpointFile> open_checkpoint(const std::filesystem::path& folder);

// Overwrites what the arrays hold, whatever ranks wrote it. Throws Error where the parts have not
// all of it, or have it in another dtype: the checkpoint is then of another model.
void restore(const std::deque<CheckpointFile>& parts, const std::vector<StateArray>& arrays,
             device::Backend& backend);

}  // namespace strata::training
