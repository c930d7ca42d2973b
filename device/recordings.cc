#include "device/recordings.h"

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
    known->second = backend_.keep(issue);
    if (!known->second) fail("the {} backend cannot keep work to replay it", backend_.name());
  }
  known->second->replay();
}

}  // namespace strata::device
