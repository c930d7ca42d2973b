// Writes a rank's parts of checkpoints on its own thread, in parallel with training.
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
  // `backend` must outlive the writer.
  explicit CheckpointWriter(device::Backend& backend) : backend_(backend) {}
  // Waits for the thread. Ignores its errors.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Copies the elements in StateArray::writes, starts a thread that writes them to the file, and
  // returns. Call between steps, after finish(). Reuses its host memory. Throws Error if there is
  // too little memory, or if no thread can be started.
  void begin(const std::filesystem::path& path, const CheckpointHeader& header,
             const TrainingState& state);
  // Waits until the file is on disk. Throws Error if it could not be written.
  void finish();

 private:
  std::vector<Piece> copy(const TrainingState& state);

  device::Backend& backend_;
  device::HostBuffer copy_;
  std::thread thread_;
  std::optional<FirstError> error_;  // why the file could not be written
};

}  // namespace strata::training
