// Caches captured graphs by the shape of their work.
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

  // Captures at most `most` different keys, as long as the device has enough free memory (see
  // kMostReserved).
  explicit GraphCache(Backend& backend, size_t most = 256) : backend_(backend), most_(most) {}

  // Calls `issue`, or launches the graph that it produced for an equal key; both must do the same
  // work (see Backend::capture). A key's first run is not captured, because libraries prepare and
  // tune on first use; the second is. Calls `issue` again if there is no memory for the graph.
  // Throws Error if the device cannot capture.
  void run(const Key& key, const std::function<void()>& issue);

  // Captures the work of a key now, so that every run() launches it. The work must have run before.
  // Returns false if `most` keys are known already or the device's memory is short.
  bool capture(const Key& key, const std::function<void()>& issue);

  int64_t launched() const { return launched_; }  // number of calls of run() that launched a graph

  // Capturing stops for good when free device memory falls below a sixteenth of the total, or below
  // this many bytes on a larger device, because libraries may need memory later.
  static constexpr int64_t kMostReserved = int64_t{2} << 30;

  struct Captured {
    int64_t graphs = 0;
    int64_t bytes = 0;  // device memory, if the device reports it
    // Set if capturing has stopped for lack of memory: the free bytes at that time, or 0 if the
    // device does not report them.
    std::optional<int64_t> free_at_stop = {};
  };
  const Captured& captured() const { return captured_; }

 private:
  // Returns null if memory is short.
  std::unique_ptr<CapturedGraph> try_to_capture(const std::function<void()>& issue);

  Backend& backend_;
  size_t most_;
  int64_t launched_ = 0;
  Captured captured_;
  std::map<Key, std::unique_ptr<CapturedGraph>> graphs_;  // null: has run once without a graph
};

}  // namespace strata::device
