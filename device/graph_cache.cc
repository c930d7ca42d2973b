#include "device/graph_cache.h"

#include "base/error.h"

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
    known->second = captured(issue);
  }
  known->second->launch();
}

bool GraphCache::capture(const Key& key, const std::function<void()>& issue) {
  auto known = graphs_.find(key);
  if (known == graphs_.end()) {
    if (graphs_.size() >= most_) return false;
    known = graphs_.emplace(key, nullptr).first;
  }
  if (!known->second) known->second = captured(issue);
  return true;
}

std::unique_ptr<CapturedGraph> GraphCache::captured(const std::function<void()>& issue) {
  auto graph = backend_.capture(issue);
  if (!graph) fail("the {} backend captures no graphs", backend_.name());
  return graph;
}

}  // namespace strata::device
