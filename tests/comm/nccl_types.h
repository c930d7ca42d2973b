// Communicators over MPI, and sizes of NCCL's types, for both stand-ins for NCCL.
#pragma once

#include <mpi.h>
#include <nccl.h>

#include "device/operations/dtype.h"

struct ncclComm {
  MPI_Comm ranks = MPI_COMM_NULL;  // null: a single rank
  int rank = 0;
  int size = 1;
};

namespace strata::comm {

inline device::DType dtype_of(ncclDataType_t type) {
  if (type == ncclFloat16) return device::DType::kF16;
  if (type == ncclFloat64) return device::DType::kF64;
  return type == ncclFloat32 ? device::DType::kF32 : device::DType::kBF16;
}

inline size_t bytes_of(size_t count, ncclDataType_t type) {
  return count * size_of(dtype_of(type));
}

}  // namespace strata::comm
