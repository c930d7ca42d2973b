#include "base/error.h"
#include "comm/communicator.h"

namespace strata::comm {
namespace {

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(void*, int64_t, device::DType) override {}
  void all_reduce_sum(std::span<int64_t>) override {}
  void all_reduce_max(std::span<float>) override {}
  void reduce_scatter_sum(void*, int64_t, device::DType) override {}
  void all_gather(void*, int64_t, device::DType) override {}
  void broadcast(void*, size_t, int) override {}
  void barrier() override {}
  std::unique_ptr<Communicator> duplicate() override { return make_single_communicator(); }
  std::unique_ptr<Communicator> split(int) override { return make_single_communicator(); }
};

}  // namespace

std::unique_ptr<Communicator> Communicator::split(int) {
  fail("this communicator cannot be split");
}
void Communicator::end_job(std::string_view message) { fail("{}", message); }
std::unique_ptr<Messages> Communicator::make_messages() {
  fail("this communicator does not support messages");
}

std::unique_ptr<Communicator> make_single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace strata::comm
