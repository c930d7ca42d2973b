#include "device/kernel_choices.h"

#include <cstddef>

namespace strata::device {

const char* name_of(AttentionKernel kernel) {
  constexpr const char* kNames[] = {"fastest", "plain", "mma", "wgmma", "cudnn"};
  return kNames[static_cast<size_t>(kernel)];
}

const char* name_of(FusedEpilogues epilogues) {
  constexpr const char* kNames[] = {"fastest", "always", "never"};
  return kNames[static_cast<size_t>(epilogues)];
}

}  // namespace strata::device
