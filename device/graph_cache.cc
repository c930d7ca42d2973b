#include "device/graph_cache.h"

#include "base/error.h"

namespace strata::device {

void Recordings::run(const Key& key, const std::function<void()>& issue) {
  const auto known = kept_.find(key);
  if (known == kept_.end()) {
    if (kept_.size() < most_) kept_.emplace(key, nullptr);
    return issue();
  }
  if (known->second) {
    ++replayed_;
  } else {
    known->second = recording(issue);
  }
  known->second->replay();
}

bool Recordings::keep(const Key& key, const std::function<void()>& issue) {
  auto known = kept_.find(key);
  if (known == kept_.end()) {
    if (kept_.size() >= most_) return false;
    known = kept_.emplace(key, nullptr).first;
  }
  if (!known->second) known->second = recording(issue);
  return true;
}

std::unique_ptr<Recording> Recordings::recording(const std::function<void()>& issue) {
  auto recording = backend_.keep(issue);
  if (!recording) fail("the {} backend cannot keep work to replay it", backend_.name());
  return recording;
}

}  // namespace strata::device
