// The error of a device that has too little memory left. Apart from device/backend.h, which CUDA's
// compiler reads: it cannot compile {fmt}.
#pragma once

#include "base/error.h"

namespace strata::device {

class OutOfDeviceMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace strata::device
