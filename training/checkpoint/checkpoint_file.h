// One rank's part of a checkpoint: a safetensors file whose tensors are pieces of flat arrays, and
// whose last tensor is a checksum of all before it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/mapped_file.h"
#include "base/range.h"
#include "device/operations/dtype.h"
#include "training/checkpoint/training_state.h"

namespace strata::training {

struct CheckpointHeader {
  int64_t step = 0;        // that was trained last
  int64_t parameters = 0;  // of the model
  PlanShape plan;
  std::optional<optim::LossScale> loss_scale;  // of model.precision fp16
  int rank = 0;                                // whose part this is
  int ranks = 1;                               // parts of the checkpoint
  std::string model;                           // as bert::to_text has it
  std::string note;
};

// Elements `range` of an array; in the file the tensor "<array>/<range.begin>".
struct Piece {
  std::string array;
  device::DType dtype = device::DType::kF32;
  Range range;
  std::span<const std::byte> bytes;
};

// Writes it whole or not at all. Throws Error where it cannot be written.
void write_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                           std::span<const Piece> pieces);

class CheckpointFile {
 public:
  // Reads the header. Throws Error where `path` is no such file, or is cut short.
  explicit CheckpointFile(const std::filesystem::path& path);

  const CheckpointHeader& header() const { return header_; }
  // In host memory, read from the file when they are looked at.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // Reads all of it. Throws Error where the checksum is another.
  void verify() const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  CheckpointHeader header_;
  std::vector<Piece> pieces_;
  size_t checksum_at_ = 0;  // bytes before it
};

}  // namespace strata::training
