#include "comm/slow_link.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"

namespace strata::comm {
namespace {

class SlowLink final : public Communicator {
 public:
  SlowLink(std::unique_ptr<Communicator> inner, const Link& link)
      : inner_(std::move(inner)), link_(link) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    at_least(all_reduce_time(count, dtype), [&] { inner_->all_reduce_sum(data, count, dtype); });
  }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    at_least(all_reduce_time(count, dtype) / 2,
             [&] { inner_->reduce_scatter_sum(data, count, dtype); });
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    at_least(all_reduce_time(count, dtype) / 2, [&] { inner_->all_gather(data, count, dtype); });
  }

  void all_reduce_sum(std::span<int64_t> values) override { inner_->all_reduce_sum(values); }
  void all_reduce_max(std::span<float> values) override { inner_->all_reduce_max(values); }
  void broadcast(void* data, size_t bytes, int root) override {
    inner_->broadcast(data, bytes, root);
  }
  void barrier() override { inner_->barrier(); }
  void end_job_after(double stall_seconds) override { inner_->end_job_after(stall_seconds); }
  std::shared_ptr<device::HostWaits> device_waits() override { return inner_->device_waits(); }
  Traffic* traffic() override { return inner_->traffic(); }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<SlowLink>(inner_->duplicate(), link_);
  }
  std::unique_ptr<Communicator> split(int color) override {
    return std::make_unique<SlowLink>(inner_->split(color), link_);
  }
  std::unique_ptr<Messages> make_messages() override { return inner_->make_messages(); }

 private:
  using Seconds = std::chrono::duration<double>;

  Seconds all_reduce_time(int64_t count, device::DType dtype) const {
    const double bytes = static_cast<double>(count) * static_cast<double>(size_of(dtype));
    return Seconds(all_reduce_seconds(link_, size(), bytes));
  }

  template <typename Exchange>
  void at_least(Seconds time, const Exchange& exchange) {
    const auto end = std::chrono::steady_clock::now() + time;
    exchange();
    std::this_thread::sleep_until(end);
  }

  std::unique_ptr<Communicator> inner_;
  Link link_;
};

}  // namespace

double all_reduce_seconds(const Link& link, int ranks, double bytes) {
  const double hops = 2.0 * (ranks - 1);
  return link.latency_seconds * hops + hops / ranks * bytes / link.bytes_per_second;
}

std::unique_ptr<Communicator> make_slow_link(std::unique_ptr<Communicator> inner,
                                             const Link& link) {
  if (!(link.bytes_per_second > 0) || !(link.latency_seconds >= 0)) {
    fail("a link of {} bytes/s and {} s latency: its speed must be above 0", link.bytes_per_second,
         link.latency_seconds);
  }
  return std::make_unique<SlowLink>(std::move(inner), link);
}

}  // namespace strata::comm
