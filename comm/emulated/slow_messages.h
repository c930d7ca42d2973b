// Messages over an emulated link.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/emulated/slow_link.h"
#include "comm/emulated/wire.h"

namespace strata::comm {

// Delays the messages of `inner`. A message first occupies `wire` at link.bytes_per_second, then
// takes another link.latency_seconds. Then the receiver gets an empty message through `arrivals`.
// Sent data may be overwritten as soon as the message has left the wire.
std::unique_ptr<Messages> make_slow_messages(std::unique_ptr<Messages> inner,
                                             std::unique_ptr<Messages> arrivals, const Link& link,
                                             std::shared_ptr<Wire> wire);

}  // namespace strata::comm
