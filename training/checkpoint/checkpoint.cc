#include "training/checkpoint/checkpoint.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::training {
namespace {

// Copies the elements of `piece` that the array holds to the device, and adds their ranges to
// `copied`.
void copy_piece(const Piece& piece, const StateArray& array, device::Backend& backend,
                std::vector<Range>& copied) {
  for (const Range& held : array.holds) {
    const Range both{std::max(held.begin, piece.range.begin), std::min(held.end, piece.range.end)};
    if (both.size() <= 0) continue;
    const device::Tensor to = part_of(array, both);
    const auto from = static_cast<size_t>(both.begin - piece.range.begin) * size_of(piece.dtype);
    backend.copy_to_device(device::Stream::kCompute, to.data, piece.bytes.data() + from,
                           to.bytes());
    copied.push_back(both);
  }
}

// Returns the number of elements in all ranges. Throws Error if two ranges overlap.
int64_t count_once(std::vector<Range> ranges, const StateArray& array) {
  std::ranges::sort(ranges, {}, &Range::begin);
  int64_t count = 0, end = 0;
  for (const Range& range : ranges) {
    if (range.begin < end)
      fail("the checkpoint has element {} of {} twice", range.begin, array.name);
    end = range.end;
    count += range.size();
  }
  return count;
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
    const bool alike = part.step == first.step && part.ranks == first.ranks &&
                       part.parameters == first.parameters && part.model == first.model &&
                       part.note == first.note;
    if (!alike || part.rank != rank) {
      fail(
          "{}: is part {} of {} after step {}, but part {} of {} after step {} of this run was "
          "expected",
          path.string(), part.rank, part.ranks, part.step, rank, first.ranks, first.step);
    }
  }
  return parts;
}

void restore(const std::deque<CheckpointFile>& parts, const std::vector<StateArray>& arrays,
             device::Backend& backend) {
  for (const StateArray& array : arrays) {
    std::vector<Range> copied;
    for (const CheckpointFile& part : parts) {
      for (const Piece& piece : part.pieces()) {
        if (piece.array != array.name || piece.dtype != array.tensor.dtype) continue;
        copy_piece(piece, array, backend, copied);
      }
    }
    const int64_t missing = count_once(array.holds, array) - count_once(copied, array);
    if (missing != 0) {
      fail("the checkpoint after step {} lacks {} of {}: it belongs to another model",
           parts.front().header().step, counted(missing, "element"), array.name);
    }
  }
  backend.synchronize(device::Stream::kCompute);
}

}  // namespace strata::training
