#include "training/checkpoint/checkpoint.h"

#include <algorithm>

#include "base/error.h"

namespace strata::training {
namespace {

// Copies what of `piece` the array holds. Returns how many elements.
int64_t copy_piece(const Piece& piece, const StateArray& array, device::Backend& backend) {
  int64_t copied = 0;
  for (const Range& held : array.holds) {
    const Range both{std::max(held.begin, piece.range.begin), std::min(held.end, piece.range.end)};
    if (both.size() <= 0) continue;
    const device::Tensor to = part_of(array, both);
    const auto from = static_cast<size_t>(both.begin - piece.range.begin) * size_of(piece.dtype);
    backend.copy_to_device(device::Stream::kCompute, to.data, piece.bytes.data() + from,
                           to.bytes());
    copied += both.size();
  }
  return copied;
}

}  // namespace

std::filesystem::path part_path(const std::filesystem::path& folder, int rank) {
  return folder / fmt::format("rank_{}.safetensors", rank);
}

std::deque<CheckpointFile> open_checkpoint(const std::filesystem::path& folder) {
  std::deque<CheckpointFile> parts;
  for (int rank = 0; rank == 0 || rank < parts.front().header().ranks; ++rank) {
    const std::filesystem::path path = part_path(folder, rank);
    parts.emplace_back(path);
    const CheckpointHeader &part = parts.back().header(), &first = parts.front().header();
    if (part.step != first.step || part.ranks != first.ranks || part.rank != rank) {
      fail("{}: is part {} of {} after step {}, expected part {} of {} after step {}",
           path.string(), part.rank, part.ranks, part.step, rank, first.ranks, first.step);
    }
  }
  return parts;
}

void restore(const std::deque<CheckpointFile>& parts, const std::vector<StateArray>& arrays,
             device::Backend& backend) {
  for (const StateArray& array : arrays) {
    int64_t missing = 0;
    for (const Range& held : array.holds) missing += held.size();
    for (const CheckpointFile& part : parts) {
      for (const Piece& piece : part.pieces()) {
        if (piece.array != array.name || piece.dtype != array.tensor.dtype) continue;
        missing -= copy_piece(piece, array, backend);
      }
    }
    if (missing != 0) {
      fail("the checkpoint after step {} lacks {} elements of {}: it is of another model",
           parts.front().header().step, missing, array.name);
    }
  }
  backend.synchronize(device::Stream::kCompute);
}

}  // namespace strata::training
