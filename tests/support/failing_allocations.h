// In test executables that failing_allocations.cc is linked to, allocations may fail.
#pragma once

namespace strata::testing_support {

// Of this thread's calls of operator new, how many succeed until one throws std::bad_alloc;
// negative: none does.
extern thread_local int allocations_left;

}  // namespace strata::testing_support
