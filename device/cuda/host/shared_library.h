// A library that is loaded on first use. A program that links a library of several hundred
// megabytes takes longer to start than most commands run, and does not start without it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace strata::device::cuda {

// Stays loaded until the process ends.
class SharedLibrary {
 public:
  // Loads the first of `files` (names or paths) that can be loaded. Throws Error if none can. Its
  // message is `need`, such as "several ranks on GPUs need NCCL", then why the first cannot be
  // loaded and what to do.
  SharedLibrary(const std::vector<std::string>& files, const std::string& need);

  // Finds the function of that name. Throws Error if the library lacks it.
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
