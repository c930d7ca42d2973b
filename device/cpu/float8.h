// Operands of products in 8 bits. There are no such products here: operands are rounded to what
// those would see, and multiplied as ever.
#pragma once

#include "device/cpu/parallel.h"
#include "device/float8.h"

namespace strata::device::cpu {

// `tensor` as a product takes it: itself, or a rounded copy in scratch slot `slot`.
// `scaling.largest` is raised.
template <typename Format, typename T>
const T* operand(const Context& context, const ConstTensor& tensor, const Float8Scaling& scaling,
                 int slot);

}  // namespace strata::device::cpu
