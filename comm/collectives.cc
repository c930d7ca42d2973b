#include "comm/collectives.h"

#include <utility>

namespace strata::comm {
namespace {

// A backend's own collectives, which add their traffic to that of `communicator`.
class CountedCollectives final : public device::Collectives {
 public:
  CountedCollectives(std::unique_ptr<device::Collectives> inner, Communicator& communicator)
      : inner_(std::move(inner)),
        traffic_(*communicator.traffic()),
        rank_(communicator.rank()),
        ranks_(communicator.size()) {}

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    inner_->all_reduce_sum(data, count, dtype);
    traffic_.add_reduce_scatter(count, dtype, rank_, ranks_);
    traffic_.add_all_gather(count, dtype, rank_, ranks_);
  }
  void all_reduce_max(float* data, int64_t count) override { inner_->all_reduce_max(data, count); }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    inner_->reduce_scatter_sum(data, count, dtype);
    traffic_.add_reduce_scatter(count, dtype, rank_, ranks_);
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    inner_->all_gather(data, count, dtype);
    traffic_.add_all_gather(count, dtype, rank_, ranks_);
  }
  bool has_messages() const override { return inner_->has_messages(); }
  void send(const void* data, size_t bytes, int to) override {
    inner_->send(data, bytes, to);
    traffic_.add_message(bytes);
  }
  void receive(void* data, size_t bytes, int from) override { inner_->receive(data, bytes, from); }

 private:
  std::unique_ptr<device::Collectives> inner_;
  Traffic& traffic_;
  int rank_;
  int ranks_;
};

}  // namespace

std::unique_ptr<device::Collectives> make_collectives(Communicator& communicator,
                                                      device::Backend& backend,
                                                      device::Stream stream, int max_ctas) {
  if (communicator.size() == 1 || !backend.has_collectives()) {
    return make_staged_collectives(communicator, backend, stream);
  }
  const device::RankGroup group{.rank = communicator.rank(),
                                .size = communicator.size(),
                                .all_gather =
                                    [&](void* data, size_t bytes) {
                                      const auto words =
                                          static_cast<int64_t>(bytes / 2) * communicator.size();
                                      communicator.all_gather(data, words, device::DType::kF16);
                                    },
                                .waits = communicator.device_waits(),
                                .max_ctas = max_ctas};
  auto own = backend.make_collectives(group, stream);
  if (!communicator.traffic()) return own;
  return std::make_unique<CountedCollectives>(std::move(own), communicator);
}

}  // namespace strata::comm
