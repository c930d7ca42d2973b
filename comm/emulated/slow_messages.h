// Messages over an emulated link.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/emulated/slow_link.h"
#include "comm/emulated/wire.h"

namespace strata::comm {

// Delays the messages of `inner`. When `wire`, with a bandwidth of link.bytes_per_second, has
// carried a message and link.latency_seconds have passed, an empty message by `arrivals` announces
// it to its receiver. Sent data may be overwritten as soon as the wire has carried it.
std::unique_ptr<Messages> make_slow_messages(std::unique_ptr<Messages> inner,
                                             std::unique_ptr<Messages> arrivals, const Link& link,
                                             std::shared_ptr<Wire> wire);

}  // namespace strata::comm
