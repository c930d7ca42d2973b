// An emulated slow network, for measuring how much communication is hidden.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace strata::comm {

// Speed of one rank's connection. A ring all-reduce of n bytes over p ranks takes latency_seconds *
// 2 (p - 1) + 2 (p - 1) / p * n / bytes_per_second, and each half takes half of that. A message
// takes latency_seconds + n / bytes_per_second.
struct Link {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

// Returns the seconds that such an all-reduce takes.
double all_reduce_seconds(const Link& link, int ranks, double bytes);
// Returns the seconds that such a message takes.
double message_seconds(const Link& link, double bytes);

// Slows `inner` down: sums of floating-point data, all-gathers and messages take at least as long
// as over `link`. All simultaneous transfers of this rank, including those by duplicates
// and splits of the result, share the link's bandwidth. A rank's messages leave one after another,
// while the rank does other work. Receiving takes no bandwidth, because the link is full duplex.
// All other calls pass through. Throws Error for a link without bandwidth or of negative latency.
std::unique_ptr<Communicator> make_slow_link(std::unique_ptr<Communicator> inner, const Link& link);

}  // namespace strata::comm
