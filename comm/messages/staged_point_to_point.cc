#include <optional>
#include <vector>

#include "comm/messages/point_to_point.h"
#include "device/memory/buffer.h"

namespace strata::comm {
namespace {

using device::Stream;

class StagedPointToPoint final : public device::PointToPoint {
 public:
  StagedPointToPoint(Communicator& communicator, device::Backend& backend, size_t most_bytes)
      : messages_(communicator.make_messages()), backend_(backend), most_bytes_(most_bytes) {}

  Ticket send(const void* data, size_t bytes, int to) override {
    const Ticket ticket = free_slot();
    Slot& slot = slots_[ticket];
    const void* host = data;
    if (!backend_.memory_is_host()) {
      backend_.copy_to_host(Stream::kCompute, slot.host->as<char>(), data, bytes);
      host = slot.host->as<char>();
    }
    backend_.synchronize(Stream::kCompute);
    slot.message = messages_->send(host, bytes, to);
    slot.copied_to = nullptr;
    return ticket;
  }

  Ticket receive(void* data, size_t bytes, int from) override {
    const Ticket ticket = free_slot();
    Slot& slot = slots_[ticket];
    if (backend_.memory_is_host()) {
      backend_.synchronize(Stream::kCompute);
      slot.message = messages_->receive(data, bytes, from);
      slot.copied_to = nullptr;
    } else {
      slot.message = messages_->receive(slot.host->as<char>(), bytes, from);
      slot.copied_to = data;
      slot.bytes = bytes;
    }
    return ticket;
  }

  void wait(Ticket ticket) override {
    Slot& slot = slots_[ticket];
    messages_->wait(slot.message);
    if (slot.copied_to) {
      backend_.copy_to_device(Stream::kCompute, slot.copied_to, slot.host->as<char>(), slot.bytes);
      backend_.synchronize(Stream::kCompute);
    }
    free_.push_back(ticket);
  }

 private:
  struct Slot {
    std::optional<device::HostBuffer> host;  // absent if device memory is host memory
    Messages::Ticket message = 0;
    void* copied_to = nullptr;  // device memory to copy a received message to, or null
    size_t bytes = 0;
  };

  // Reuses slots, so that only the maximum number of concurrent messages allocates.
  Ticket free_slot() {
    if (free_.empty()) {
      Slot& slot = slots_.emplace_back();
      if (!backend_.memory_is_host()) slot.host.emplace(backend_, most_bytes_);
      return slots_.size() - 1;
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    return ticket;
  }

  std::unique_ptr<Messages> messages_;
  device::Backend& backend_;
  size_t most_bytes_;
  std::vector<Slot> slots_;  // indexed by ticket
  std::vector<Ticket> free_;
};

}  // namespace

std::unique_ptr<device::PointToPoint> make_staged_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend,
                                                                 size_t most_bytes) {
  return std::make_unique<StagedPointToPoint>(communicator, backend, most_bytes);
}

std::unique_ptr<device::PointToPoint> make_point_to_point(Communicator& communicator,
                                                          device::Backend& backend,
                                                          size_t most_bytes) {
  if (backend.has_collectives()) return make_stream_point_to_point(communicator, backend);
  return make_staged_point_to_point(communicator, backend, most_bytes);
}

}  // namespace strata::comm
