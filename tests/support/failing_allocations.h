// Lets allocations fail in test executables that link failing_allocations.cc.
#pragma once

namespace strata::testing_support {

// Number of this thread's calls of operator new that succeed before one throws std::bad_alloc;
// negative: all succeed.
extern thread_local int allocations_left;

}  // namespace strata::testing_support
