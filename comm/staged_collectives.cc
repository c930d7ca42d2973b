#include <vector>

#include "comm/collectives.h"

namespace strata::comm {
namespace {

class StagedCollectives final : public device::Collectives {
 public:
  StagedCollectives(Communicator& communicator, device::Backend& backend, device::Stream stream)
      : communicator_(communicator), backend_(backend), stream_(stream) {}

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    on_host(data, count, dtype,
            [&](void* host) { communicator_.all_reduce_sum(host, count, dtype); });
  }
  void all_reduce_max(float* data, int64_t count) override {
    on_host(data, count, device::DType::kF32, [&](void* host) {
      communicator_.all_reduce_max({static_cast<float*>(host), static_cast<size_t>(count)});
    });
  }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    on_host(data, count, dtype,
            [&](void* host) { communicator_.reduce_scatter_sum(host, count, dtype); });
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    on_host(data, count, dtype, [&](void* host) { communicator_.all_gather(host, count, dtype); });
  }

 private:
  template <typename Collective>
  void on_host(void* data, int64_t count, device::DType dtype, const Collective& collective) {
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    host_.resize(std::max(host_.size(), bytes));
    backend_.copy_to_host(stream_, host_.data(), data, bytes);
    backend_.synchronize(stream_);
    collective(host_.data());
    backend_.copy_to_device(stream_, data, host_.data(), bytes);
    backend_.synchronize(stream_);
  }

  Communicator& communicator_;
  device::Backend& backend_;
  device::Stream stream_;
  std::vector<char> host_;
};

class HostCollectives final : public device::Collectives {
 public:
  explicit HostCollectives(Communicator& communicator) : communicator_(communicator) {}

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    communicator_.all_reduce_sum(data, count, dtype);
  }
  void all_reduce_max(float* data, int64_t count) override {
    communicator_.all_reduce_max({data, static_cast<size_t>(count)});
  }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    communicator_.reduce_scatter_sum(data, count, dtype);
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    communicator_.all_gather(data, count, dtype);
  }

 private:
  Communicator& communicator_;
};

}  // namespace

std::unique_ptr<device::Collectives> make_staged_collectives(Communicator& communicator,
                                                             device::Backend& backend,
                                                             device::Stream stream) {
  return std::make_unique<StagedCollectives>(communicator, backend, stream);
}

std::unique_ptr<device::Collectives> make_host_collectives(Communicator& communicator) {
  return std::make_unique<HostCollectives>(communicator);
}

}  // namespace strata::comm
