// Making data cold before a timed run.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace strata::harness {

struct CacheClearing {
  bool cleared = false;  // all that was to leave the cache has been told to
  std::string what;      // for people: what was cleared, or why it was not
};

// Takes files (and the files in directories) out of the operating system's page cache; with
// `whole`, everything, which only root may. Opens the files, but reads nothing of them.
CacheClearing clear_page_cache(std::span<const std::filesystem::path> files, bool whole);

}  // namespace strata::harness
