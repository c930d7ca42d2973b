#include "device/cuda/host/shared_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace strata::device::cuda {

SharedLibrary::SharedLibrary(const std::vector<std::string>& files, const std::string& need) {
  std::string problem;
  for (const std::string& file : files) {
    handle_ = ::dlopen(file.c_str(), RTLD_NOW);
    if (handle_) {
      file_ = file;
      return;
    }
    if (problem.empty()) problem = ::dlerror();
  }
  fail("{}: {}; install it or put its folder in LD_LIBRARY_PATH", need, problem);
}

void* SharedLibrary::address_of(const char* name) const {
  void* const symbol = ::dlsym(handle_, name);
  if (!symbol) fail("{}: lacks the function {}; install another version", file_, name);
  return symbol;
}

}  // namespace strata::device::cuda
