// Index of a data set: the lengths and masked counts of all samples, known without reading the
// samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/files/sample_classes.h"

namespace strata::data {

// A file of the indexed data set.
struct IndexedFile {
  std::string name;  // without its folder
  uint64_t bytes = 0;
  uint64_t samples = 0;

  bool operator==(const IndexedFile&) const = default;
};

// Samples have two numbers: their position in the data set, and their sorted index in the order
// of SampleClasses, which keeps the data set's order within a class. Plans deal sorted indices.
class SampleIndex {
 public:
  // Takes [samples] of a data set, in its order. At most 2^32 - 1 samples.
  SampleIndex(std::vector<uint16_t> lengths, std::vector<uint16_t> masked_counts);

  // Maps a file written by write(), without reading all of it. Throws Error if the file is not an
  // index, its head is damaged, or it belongs to files of other names or sizes (`files[].samples`
  // is ignored).
  static SampleIndex open(const std::filesystem::path& path, std::span<const IndexedFile> files);
  // Writes the index atomically. `files` are the data set's, in order.
  void write(const std::filesystem::path& path, std::span<const IndexedFile> files) const;

  uint32_t size() const { return static_cast<uint32_t>(lengths_.size()); }
  std::span<const uint16_t> lengths() const { return lengths_; }              // [size()] tokens
  std::span<const uint16_t> masked_counts() const { return masked_counts_; }  // [size()]

  const SampleClasses& classes() const { return classes_; }
  // Returns the sample at a sorted index. Throws Error if the index file is damaged.
  uint32_t sample_at(uint32_t sorted_index) const;

  // The data set's files, if the index was opened from a file.
  std::span<const IndexedFile> files() const { return files_; }

 private:
  SampleIndex() = default;

  std::span<const uint16_t> lengths_, masked_counts_;
  std::span<const uint32_t> order_;  // [size()] by sorted index
  SampleClasses classes_;
  std::vector<IndexedFile> files_;
  std::string path_;                   // path of the index file, for messages
  std::shared_ptr<const void> owner_;  // owns the memory of the spans
};

// Returns the path of the index of a data set: next to its first path if that is a file, inside it
// if it is a folder.
std::filesystem::path index_path(const std::filesystem::path& first);

}  // namespace strata::data
