// Collectives over device memory, in the order of one stream.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "device/backend.h"

namespace strata::comm {

// As Communicator's, for memory of a backend's device. What they do is part of a stream: it comes
// after everything issued there before and ahead of everything issued later. All ranks issue the
// same in the same order. The host may or may not wait.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;

  virtual void all_reduce_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_reduce_max(float* data, int64_t count) = 0;
  virtual void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) = 0;
  virtual void all_gather(void* data, int64_t count, device::DType dtype) = 0;
};

// The fastest there is for `backend`: NCCL where its streams are CUDA's and there are several
// ranks, else through the host. All ranks of `communicator` call together; it and `backend` outlive
// the result. Throws Error where NCCL is needed and is missing or fails.
std::unique_ptr<DeviceCommunicator> make_device_communicator(Communicator& communicator,
                                                             device::Backend& backend,
                                                             device::Stream stream);

// For any backend: copies to the host, where `communicator` does the work, and back; the host
// waits.
std::unique_ptr<DeviceCommunicator> make_staged_communicator(Communicator& communicator,
                                                             device::Backend& backend,
                                                             device::Stream stream);

// NCCL, loaded when first called, so that programs start without it. Ranks get the same bits; bf16
// is rounded at every addition, unlike Communicator's. `backend`'s streams are CUDA's.
std::unique_ptr<DeviceCommunicator> make_nccl_communicator(Communicator& communicator,
                                                           device::Backend& backend,
                                                           device::Stream stream);

}  // namespace strata::comm
