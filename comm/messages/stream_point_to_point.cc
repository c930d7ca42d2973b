#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/messages/point_to_point.h"

namespace strata::comm {
namespace {

using device::Stream;

// Tickets are events on a stream.
class StreamPointToPoint final : public device::PointToPoint {
 public:
  StreamPointToPoint(Communicator& communicator, device::Backend& backend) : backend_(backend) {
    const int ranks = communicator.size();
    for (int from = 0; from < ranks; ++from) {
      connect(communicator, from, (from + 1) % ranks);
      if (ranks > 2) connect(communicator, from, (from + ranks - 1) % ranks);
    }
  }

  Ticket send(const void* data, size_t bytes, int to) override {
    backend_.wait(Stream::kSend, backend_.record(Stream::kCompute));
    const Way& way = way_to(to, Stream::kSend);
    way.messages->send(data, bytes, way.place_of_peer);
    return backend_.record(Stream::kSend);
  }
  Ticket receive(void* data, size_t bytes, int from) override {
    backend_.wait(Stream::kReceive, backend_.record(Stream::kCompute));
    const Way& way = way_to(from, Stream::kReceive);
    way.messages->receive(data, bytes, way.place_of_peer);
    return backend_.record(Stream::kReceive);
  }
  void wait(Ticket ticket) override { backend_.wait(Stream::kCompute, ticket); }

 private:
  // One direction between two ranks, with a communicator of its own, so that it never waits for
  // messages between other ranks.
  struct Way {
    int peer;
    Stream stream;
    int place_of_peer;  // peer's rank in `pair`
    std::unique_ptr<Communicator> pair;
    std::unique_ptr<device::Collectives> messages;
  };

  // All ranks call together.
  void connect(Communicator& communicator, int from, int to) {
    const int rank = communicator.rank();
    const bool mine = rank == from || rank == to;
    auto pair = communicator.split(mine ? 1 : 0);
    if (!mine) return;
    const Stream stream = rank == from ? Stream::kSend : Stream::kReceive;
    auto messages = make_collectives(*pair, backend_, stream);
    if (!messages->has_messages())
      fail("{}: its collectives cannot send messages", backend_.name());
    ways_.push_back(
        {rank == from ? to : from, stream, 1 - pair->rank(), std::move(pair), std::move(messages)});
  }

  const Way& way_to(int peer, Stream stream) const {
    for (const Way& way : ways_) {
      if (way.peer == peer && way.stream == stream) return way;
    }
    fail("no messages are possible between rank {} and this rank", peer);
  }

  device::Backend& backend_;
  std::vector<Way> ways_;
};

}  // namespace

std::unique_ptr<device::PointToPoint> make_stream_point_to_point(Communicator& communicator,
                                                                 device::Backend& backend) {
  return std::make_unique<StreamPointToPoint>(communicator, backend);
}

}  // namespace strata::comm
