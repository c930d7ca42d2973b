#include "device/graph_cache.h"

#include <algorithm>

#include "base/error.h"
#include "device/memory/buffer.h"

namespace strata::device {

void GraphCache::run(const Key& key, const std::function<void()>& issue) {
  const auto known = graphs_.find(key);
  if (known == graphs_.end()) {
    if (graphs_.size() < most_) graphs_.emplace(key, nullptr);
    return issue();
  }
  if (known->second) {
    ++launched_;
  } else {
    known->second = try_to_capture(issue);
    if (!known->second) return issue();
  }
  known->second->launch();
}

bool GraphCache::capture(const Key& key, const std::function<void()>& issue) {
  auto known = graphs_.find(key);
  if (known == graphs_.end()) {
    if (graphs_.size() >= most_) return false;
    known = graphs_.emplace(key, nullptr).first;
  }
  if (!known->second) known->second = try_to_capture(issue);
  return known->second != nullptr;
}

std::unique_ptr<CapturedGraph> GraphCache::try_to_capture(const std::function<void()>& issue) {
  if (captured_.free_at_stop) return nullptr;
  const std::optional<Backend::Memory> before = backend_.device_memory();
  if (before && before->free < std::min(kMostReserved, before->total / 16)) {
    captured_.free_at_stop = before->free;
    return nullptr;
  }
  std::unique_ptr<CapturedGraph> graph;
  try {
    graph = backend_.capture(issue);
  } catch (const OutOfDeviceMemory&) {
    captured_.free_at_stop = before ? before->free : 0;
    return nullptr;
  }
  if (!graph) fail("the {} backend captures no graphs", backend_.name());
  ++captured_.graphs;
  if (before) {
    captured_.bytes += std::max<int64_t>(before->free - backend_.device_memory()->free, 0);
  }
  return graph;
}

}  // namespace strata::device
