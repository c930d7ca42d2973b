// One rank's part of a checkpoint: a safetensors file. Its tensors are pieces of flat arrays, and
// the last one is a checksum of everything before it.
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
  int64_t step = 0;        // the last trained step
  int64_t parameters = 0;  // arena elements of the whole model
  BatchPlanShape plan;
  std::optional<optim::LossScale> loss_scale;  // only with model.precision fp16
  int rank = 0;                                // the rank whose part this is
  int ranks = 1;                               // number of the checkpoint's parts
  std::string model;                           // the model's bert::to_text
  std::string note;
};

// The elements `range` of an array. The file names the tensor "<array>/<range.begin>".
struct Piece {
  std::string array;
  device::DType dtype = device::DType::kF32;
  Range range;
  std::span<const std::byte> bytes;
};

// Writes the file completely or not at all. Throws Error if it cannot be written.
void write_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                           std::span<const Piece> pieces);

class CheckpointFile {
 public:
  // Reads the header. Throws Error if `path` is not a checkpoint file, or is truncated.
  explicit CheckpointFile(const std::filesystem::path& path);

  const CheckpointHeader& header() const { return header_; }
  // The pieces' bytes are mapped memory, read from the file on access.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // Reads the whole file. Throws Error if the checksum does not match.
  void verify() const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  CheckpointHeader header_;
  std::vector<Piece> pieces_;
  size_t checksum_at_ = 0;  // bytes before the checksum
};

}  // namespace strata::training
