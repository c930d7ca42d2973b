#include "device/reference/reference_backend.h"

#include "device/plain/host_memory_backend.h"
#include "device/reference/operations.h"

namespace strata::device {
namespace {

class ReferenceBackend final : public HostMemoryBackend {
 public:
  std::string name() const override { return "reference"; }
  std::string description() const override { return "naive loops in double, one thread"; }
  DType compute_dtype() const override { return DType::kF64; }
  DType master_dtype() const override { return DType::kF64; }
  bool supports(Operation, DType dtype) const override {
    return dtype == DType::kF64 || is_float8(dtype);
  }

#define STRATA_RUN(function, Arguments, without) \
  void function(Stream, const Arguments& op) override { reference::function(op); }
  STRATA_OPERATIONS(STRATA_RUN)
#undef STRATA_RUN
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace strata::device
