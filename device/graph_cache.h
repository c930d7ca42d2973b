// Graphs of work of the same shape, captured once and launched from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/backend.h"

namespace strata::device {

class GraphCache {
 public:
  using Key = std::vector<int64_t>;

  // Captures work of at most `most` keys, the first that come, and as long as the device has enough
  // free memory (see kMostReserved).
  explicit GraphCache(Backend& backend, size_t most = 256) : backend_(backend), most_(most) {}

  // Has `issue` issue its work, or launches what it issued for an equal key: the two must do the
  // same (see Backend::capture). Unless it was captured before, the first work of a key runs as it
  // is, since libraries prepare and measure what they see for the first time, and the second is
  // captured. If there is no memory for its graph, `issue` is called again. Throws Error where the
  // device cannot capture.
  void run(const Key& key, const std::function<void()>& issue);

  // Captures the work of a key now, so that every run() launches it. The work has run before.
  // Returns whether it is captured now; it is not where `most` keys are known already or the
  // device's memory is short.
  bool capture(const Key& key, const std::function<void()>& issue);

  int64_t launched() const { return launched_; }  // calls of run that issued nothing

  // Capturing stops, for good, when less than a sixteenth of the device's memory is free, or less
  // than this many bytes of a larger device: libraries may need memory later.
  static constexpr int64_t kMostReserved = int64_t{2} << 30;

  struct Captured {
    int64_t graphs = 0;
    int64_t bytes = 0;  // of device memory, as far as the device tells
    // Set when capturing has stopped for lack of memory: the bytes that were free, or 0 if the
    // device does not tell.
    std::optional<int64_t> free_at_stop = {};
  };
  const Captured& captured() const { return captured_; }

 private:
  // Null if memory is short.
  std::unique_ptr<CapturedGraph> try_to_capture(const std::function<void()>& issue);

  Backend& backend_;
  size_t most_;
  int64_t launched_ = 0;
  Captured captured_;
  std::map<Key, std::unique_ptr<CapturedGraph>> graphs_;  // null: run once
};

}  // namespace strata::device
