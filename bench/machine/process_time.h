// How long this process has been running.
#pragma once

namespace strata::bench {

// Seconds since the system started this process, to 10 ms. Throws Error where /proc does not tell.
double seconds_since_process_start();

}  // namespace strata::bench
