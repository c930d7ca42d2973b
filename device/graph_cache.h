// Work of the same shape, kept once and replayed from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/backend.h"

namespace strata::device {

class Recordings {
 public:
  using Key = std::vector<int64_t>;

  // Keeps work of at most `most` keys, the first that come.
  explicit Recordings(Backend& backend, size_t most = 256) : backend_(backend), most_(most) {}

  // Has `issue` issue its work, or replays what it issued for an equal key: the two must do the
  // same (see Backend::keep). Unless it was kept before, the first work of a key runs as it is,
  // since libraries prepare and measure what they see for the first time, and the second is kept.
  // Throws Error where the device cannot keep work.
  void run(const Key& key, const std::function<void()>& issue);

  // Keeps the work of a key right away, for every `run` to replay: as it is, it has run before.
  // Returns whether it is kept now; it is not where `most` keys are known already.
  bool keep(const Key& key, const std::function<void()>& issue);

  int64_t replayed() const { return replayed_; }  // calls of run that issued nothing

 private:
  std::unique_ptr<Recording> recording(const std::function<void()>& issue);

  Backend& backend_;
  size_t most_;
  int64_t replayed_ = 0;
  std::map<Key, std::unique_ptr<Recording>> kept_;  // null: run once
};

}  // namespace strata::device
