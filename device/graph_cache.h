// Graphs of work of the same shape, captured once and launched from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/backend.h"

namespace strata::device {

class GraphCache {
 public:
  using Key = std::vector<int64_t>;

  // Captures work of at most `most` keys, the first that come.
  explicit GraphCache(Backend& backend, size_t most = 256) : backend_(backend), most_(most) {}

  // Has `issue` issue its work, or launches what it issued for an equal key: the two must do the
  // same (see Backend::capture). Unless it was captured before, the first work of a key runs as it
  // is, since libraries prepare and measure what they see for the first time, and the second is
  // captured. Throws Error where the device cannot capture.
  void run(const Key& key, const std::function<void()>& issue);

  // Captures the work of a key right away, for every `run` to launch: as it is, it has run before.
  // Returns whether it is captured now; it is not where `most` keys are known already.
  bool capture(const Key& key, const std::function<void()>& issue);

  int64_t launched() const { return launched_; }  // calls of run that issued nothing

 private:
  std::unique_ptr<CapturedGraph> captured(const std::function<void()>& issue);

  Backend& backend_;
  size_t most_;
  int64_t launched_ = 0;
  std::map<Key, std::unique_ptr<CapturedGraph>> graphs_;  // null: run once
};

}  // namespace strata::device
