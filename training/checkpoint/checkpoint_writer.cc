#include "training/checkpoint/checkpoint_writer.h"

#include "base/threads/start_thread.h"

namespace strata::training {

using device::Tensor;

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::begin(const std::filesystem::path& path, const CheckpointHeader& header,
                             const TrainingState& state) {
  finish();
  std::vector<Piece> pieces = copy(state);
  error_.emplace();
  thread_ = start_thread(path.string() + ": cannot start a thread that writes it",
                         [this, path, header, pieces = std::move(pieces)] {
                           error_->guard([&] { write_checkpoint_file(path, header, pieces); });
                         });
}

void CheckpointWriter::finish() {
  if (!thread_.joinable()) return;
  thread_.join();
  error_->rethrow();
}

std::vector<Piece> CheckpointWriter::copy(const TrainingState& state) {
  size_t bytes = 0;
  for (const StateArray& array : state.arrays) {
    for (const Range& range : array.writes) {
      bytes += static_cast<size_t>(range.size()) * size_of(array.tensor.dtype);
    }
  }
  if (copy_.bytes() < bytes) {
    copy_ = {};  // frees memory before the next copy takes it
    copy_ = device::HostBuffer(backend_, bytes);
  }
  std::vector<Piece> pieces;
  std::byte* to = copy_.as<std::byte>();
  for (const StateArray& array : state.arrays) {
    for (const Range& range : array.writes) {
      if (range.size() == 0) continue;
      const Tensor from = part_of(array, range);
      backend_.copy_to_host(device::Stream::kCompute, to, from.data, from.bytes());
      pieces.push_back({array.name, from.dtype, range, {to, from.bytes()}});
      to += from.bytes();
    }
  }
  backend_.synchronize(device::Stream::kCompute);
  return pieces;
}

}  // namespace strata::training
