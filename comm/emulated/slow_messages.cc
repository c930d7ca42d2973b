#include "comm/emulated/slow_messages.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace strata::comm {
namespace {

class SlowMessages final : public Messages {
 public:
  SlowMessages(std::unique_ptr<Messages> inner, std::unique_ptr<Messages> arrivals,
               const Link& link, std::shared_ptr<Wire> wire)
      : inner_(std::move(inner)),
        arrivals_(std::move(arrivals)),
        link_(link),
        wire_(std::move(wire)),
        courier_([this] { carry(); }) {}
  ~SlowMessages() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    courier_.join();
  }

  Ticket send(const void* data, size_t bytes, int to) override {
    const Ticket content = inner_->send(data, bytes, to);
    const double seconds = static_cast<double>(bytes) / link_.bytes_per_second;
    Ticket ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      ticket = begun({.content = content});
      waiting_.push_back({ticket, seconds, to});
    }
    changed_.notify_all();
    return ticket;
  }

  Ticket receive(void* data, size_t bytes, int from) override {
    const Ticket content = inner_->receive(data, bytes, from);
    const Ticket arrival = arrivals_->receive(nullptr, 0, from);
    const std::lock_guard lock(mutex_);
    return begun({.content = content, .arrival = arrival});
  }

  void wait(Ticket ticket) override {
    Begun waited;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return begun_[ticket].arrival || begun_[ticket].carried; });
      waited = begun_[ticket];
      free_.push_back(ticket);
    }
    inner_->wait(waited.content);
    if (waited.arrival) arrivals_->wait(*waited.arrival);
  }

 private:
  struct Begun {
    Ticket content = 0;
    std::optional<Ticket> arrival;  // only for a received message
    bool carried = false;           // a sent message has left the wire
  };
  struct Waiting {
    Ticket ticket;
    double seconds;
    int to;
  };
  // A message that has left the wire and arrives at `due`.
  struct Late {
    Clock::time_point due;
    int to;
  };

  Ticket begun(const Begun& begun) {
    if (free_.empty()) {
      begun_.push_back(begun);
      return begun_.size() - 1;
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    begun_[ticket] = begun;
    return ticket;
  }

  // Sends messages over the wire one after another, then announces them to their receivers. Ends
  // only after all messages are sent, because their senders need not wait for them.
  void carry() {
    std::optional<Wire::Transfer> transfer;  // the front of `waiting_`
    std::deque<Late> late;
    std::unique_lock lock(mutex_);
    while (!stop_ || !waiting_.empty() || !late.empty()) {
      const Clock::time_point now = Clock::now();
      std::optional<Clock::time_point> next;
      if (!late.empty()) {
        if (late.front().due <= now) {
          lock.unlock();
          arrivals_->wait(arrivals_->send(nullptr, 0, late.front().to));
          late.pop_front();
          lock.lock();
          continue;
        }
        next = late.front().due;
      }
      if (!waiting_.empty() && !transfer) transfer = wire_->begin(waiting_.front().seconds, now);
      if (transfer) {
        const Clock::time_point end = wire_->end(*transfer, now);
        if (end <= now) {
          wire_->release(*std::exchange(transfer, {}));
          const Waiting& carried = waiting_.front();
          const auto latency = std::chrono::duration<double>(link_.latency_seconds);
          late.push_back({end + std::chrono::ceil<Clock::duration>(latency), carried.to});
          begun_[carried.ticket].carried = true;
          waiting_.pop_front();
          changed_.notify_all();
          continue;
        }
        next = next ? std::min(*next, end) : end;
      }
      if (next) {
        changed_.wait_until(lock, *next);
      } else {
        changed_.wait(lock);
      }
    }
  }

  const std::unique_ptr<Messages> inner_, arrivals_;
  const Link link_;
  const std::shared_ptr<Wire> wire_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Begun> begun_;  // indexed by ticket
  std::vector<Ticket> free_;
  std::deque<Waiting> waiting_;  // messages that wait for the wire or are on it
  bool stop_ = false;
  std::thread courier_;  // last member: it uses those above
};

}  // namespace

std::unique_ptr<Messages> make_slow_messages(std::unique_ptr<Messages> inner,
                                             std::unique_ptr<Messages> arrivals, const Link& link,
                                             std::shared_ptr<Wire> wire) {
  return std::make_unique<SlowMessages>(std::move(inner), std::move(arrivals), link,
                                        std::move(wire));
}

}  // namespace strata::comm
