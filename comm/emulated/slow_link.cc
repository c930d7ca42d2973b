#include "comm/emulated/slow_link.h"

#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "comm/emulated/slow_messages.h"
#include "comm/emulated/wire.h"

namespace strata::comm {
namespace {

class SlowLink final : public Communicator {
 public:
  SlowLink(std::unique_ptr<Communicator> inner, const Link& link, std::shared_ptr<Wire> wire)
      : inner_(std::move(inner)), link_(link), wire_(std::move(wire)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    slowly(1, count, dtype, [&] { inner_->all_reduce_sum(data, count, dtype); });
  }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    slowly(0.5, count, dtype, [&] { inner_->reduce_scatter_sum(data, count, dtype); });
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    slowly(0.5, count, dtype, [&] { inner_->all_gather(data, count, dtype); });
  }

  void all_reduce_sum(std::span<int64_t> values) override { inner_->all_reduce_sum(values); }
  void all_reduce_max(std::span<float> values) override { inner_->all_reduce_max(values); }
  void broadcast(void* data, size_t bytes, int root) override {
    inner_->broadcast(data, bytes, root);
  }
  void barrier() override { inner_->barrier(); }
  void accumulate(const Accumulation& accumulation) override { inner_->accumulate(accumulation); }
  void end_job_after(double stall_seconds) override { inner_->end_job_after(stall_seconds); }
  void end_job(std::string_view message) override { inner_->end_job(message); }
  std::shared_ptr<device::HostWaits> device_waits() override { return inner_->device_waits(); }
  Traffic* traffic() override { return inner_->traffic(); }
  std::vector<std::pair<std::string, std::string>> library_versions() const override {
    return inner_->library_versions();
  }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<SlowLink>(inner_->duplicate(), link_, wire_);
  }
  std::unique_ptr<Communicator> split(int color) override {
    return std::make_unique<SlowLink>(inner_->split(color), link_, wire_);
  }
  std::unique_ptr<Messages> make_messages() override {
    return make_slow_messages(inner_->make_messages(), inner_->make_messages(), link_, wire_);
  }

 private:
  // `share` is the fraction of an all-reduce's time that the exchange takes.
  template <typename Exchange>
  void slowly(double share, int64_t count, device::DType dtype, const Exchange& exchange) {
    const double bytes = static_cast<double>(count) * static_cast<double>(size_of(dtype));
    const double latency = share * all_reduce_seconds({1.0, link_.latency_seconds}, size(), 0);
    const double alone = share * all_reduce_seconds({link_.bytes_per_second, 0}, size(), bytes);
    const Wire::Transfer transfer = wire_->begin(alone, Clock::now());
    exchange();
    for (;;) {
      const Clock::time_point now = Clock::now(), end = wire_->end(transfer, now);
      if (end <= now) {
        wire_->release(transfer);
        std::this_thread::sleep_until(end + std::chrono::duration<double>(latency));
        return;
      }
      std::this_thread::sleep_until(end);
    }
  }

  std::unique_ptr<Communicator> inner_;
  Link link_;
  std::shared_ptr<Wire> wire_;
};

}  // namespace

double all_reduce_seconds(const Link& link, int ranks, double bytes) {
  const double hops = 2.0 * (ranks - 1);
  return link.latency_seconds * hops + hops / ranks * bytes / link.bytes_per_second;
}

double message_seconds(const Link& link, double bytes) {
  return link.latency_seconds + bytes / link.bytes_per_second;
}

std::unique_ptr<Communicator> make_slow_link(std::unique_ptr<Communicator> inner,
                                             const Link& link) {
  if (!(link.bytes_per_second > 0) || !(link.latency_seconds >= 0)) {
    fail(
        "a link has {} bytes/s and {} s latency: the speed must be above 0, the latency at least 0",
        count_text(link.bytes_per_second), link.latency_seconds);
  }
  return std::make_unique<SlowLink>(std::move(inner), link, std::make_shared<Wire>());
}

}  // namespace strata::comm
