// Makes data cold before a timed run.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace strata::harness {

struct CacheClearing {
  bool cleared = false;  // whether the system accepted every request
  std::string what;      // message for people: the cleared files, or why they were not
};

// Removes files (and the files in directories) from the operating system's page cache. With
// `whole`, clears the whole cache, which requires root. Opens the files, but reads nothing.
CacheClearing clear_page_cache(std::span<const std::filesystem::path> files, bool whole);

}  // namespace strata::harness
