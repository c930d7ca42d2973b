// Reads arbitrary bytes as an HDF5 file of instances. Crashes of the library must become errors.
#include <cstdint>

#include "tests/data/files/fuzz/read_instances.h"
#include "tests/support/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const strata::fuzz::FuzzFile file(".hdf5");
  file.write({reinterpret_cast<const char*>(data), size});
  strata::fuzz::read_instances(file.path());
  return 0;
}
