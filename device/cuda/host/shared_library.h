// A library that is loaded when it is first needed: a program that links one of several hundred
// megabytes takes longer to start than most commands take, and does not start without it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace strata::device::cuda {

// Stays loaded to the end of the process.
class SharedLibrary {
 public:
  // Loads the first of `files` (names or paths) that can be loaded. Throws Error where none can;
  // its message is `need`, such as "several ranks on GPUs need NCCL", then why the first cannot be
  // loaded and what to do.
  SharedLibrary(const std::vector<std::string>& files, const std::string& need);

  // The function of that name. Throws Error where the library has none.
  template <typename Function>
  void find(Function*& function, const char* name) const {
    void* const symbol = address_of(name);
    std::memcpy(&function, &symbol, sizeof symbol);
  }

 private:
  void* address_of(const char* name) const;

  std::string file_;
  void* handle_ = nullptr;
};

}  // namespace strata::device::cuda
