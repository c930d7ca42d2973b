// A file in memory, for what reads or writes files alone.
#pragma once

#include <string>
#include <string_view>

namespace strata::drawing {

class MemoryFile {
 public:
  // `holds`: what is in it, for messages. Throws Error where there is no memory, as fill does.
  explicit MemoryFile(std::string holds);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  // A name by which this process can open it.
  std::string path() const;
  // Writes `text` and goes back to its beginning.
  void fill(std::string_view text);
  std::string contents() const;

 private:
  [[noreturn]] void give_up() const;

  std::string holds_;
  int descriptor_;
};

}  // namespace strata::drawing
