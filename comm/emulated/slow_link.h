// An emulated slow network, for measuring how much communication is hidden.
#pragma once

#include <memory>

#include "comm/communicator.h"

namespace strata::comm {

// What one rank's connection does: a ring all-reduce of n bytes over p ranks takes
// latency_seconds * 2 (p - 1) + 2 (p - 1) / p * n / bytes_per_second, each of its halves half that;
// a message latency_seconds + n / bytes_per_second.
struct Link {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

// Seconds such an all-reduce takes.
double all_reduce_seconds(const Link& link, int ranks, double bytes);
// And such a message.
double message_seconds(const Link& link, double bytes);

// `inner` with all-reduces of floating-point data, their halves and messages that take at least as
// long as over `link`. What this rank sends at once, by the result, its duplicates and splits,
// shares the link's speed; a rank's messages leave one after another, beside whatever it does. What
// it receives takes nothing of its own link, which is taken to carry both directions at once.
// Everything else passes through. Throws Error for a link without speed.
std::unique_ptr<Communicator> make_slow_link(std::unique_ptr<Communicator> inner, const Link& link);

}  // namespace strata::comm
