// Messages over an emulated link.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/emulated/slow_link.h"
#include "comm/emulated/wire.h"

namespace strata::comm {

// The messages of `inner`. One is received when an empty message by `arrivals` says so, which is
// sent when `wire`, of a speed of link.bytes_per_second, has carried the first and
// link.latency_seconds have passed. What is sent may be overwritten when the wire has carried it.
std::unique_ptr<Messages> make_slow_messages(std::unique_ptr<Messages> inner,
                                             std::unique_ptr<Messages> arrivals, const Link& link,
                                             std::shared_ptr<Wire> wire);

}  // namespace strata::comm
