// The operations of the reference backend as free functions.
#pragma once

#include "device/operations/operation_list.h"

namespace strata::device::reference {

#define STRATA_DECLARE(function, Arguments, without) void function(const Arguments& op);
STRATA_OPERATIONS(STRATA_DECLARE)
#undef STRATA_DECLARE

}  // namespace strata::device::reference
