// The age of this process.
#pragma once

namespace strata::bench {

// Returns the seconds since the system started this process, to 10 ms. Throws Error if /proc does
// not tell.
double seconds_since_process_start();

}  // namespace strata::bench
