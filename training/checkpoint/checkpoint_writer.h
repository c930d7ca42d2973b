// Writes a rank's part of checkpoints on a thread of its own, beside training.
#pragma once

#include <filesystem>
#include <optional>
#include <thread>

#include "base/threads/first_error.h"
#include "device/backend.h"
#include "device/memory/buffer.h"
#include "training/checkpoint/checkpoint_file.h"
#include "training/checkpoint/training_state.h"

namespace strata::training {

class CheckpointWriter {
 public:
  // `backend` outlives it.
  explicit CheckpointWriter(device::Backend& backend) : backend_(backend) {}
  // Waits for the thread; what it could not write is lost without a word.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Copies what `state` has this rank write and returns; the file follows. Between steps, after
  // finish(). Takes host memory for the copy, which it keeps. Throws Error where there is none.
  void begin(const std::filesystem::path& path, const CheckpointHeader& header,
             const TrainingState& state);
  // Waits until the file is on disk. Throws Error where it could not be written.
  void finish();

 private:
  std::vector<Piece> copy(const TrainingState& state);

  device::Backend& backend_;
  std::optional<device::HostBuffer> copy_;
  std::thread thread_;
  std::optional<FirstError> error_;  // of the file that is being written
};

}  // namespace strata::training
