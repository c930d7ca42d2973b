// A file in memory, for libraries and programs that only read or write files.
#pragma once

#include <string>
#include <string_view>

namespace strata::drawing {

class MemoryFile {
 public:
  // `holds` describes the content in messages. Throws Error if there is no memory, as fill does.
  explicit MemoryFile(std::string holds);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  // Returns a path by which this process can open it.
  std::string path() const;
  // Writes `text` and rewinds to the beginning.
  void fill(std::string_view text);
  std::string contents() const;

 private:
  [[noreturn]] void give_up() const;

  std::string holds_;
  int descriptor_;
};

}  // namespace strata::drawing
