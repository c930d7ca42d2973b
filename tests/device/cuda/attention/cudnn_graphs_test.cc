#include "device/cuda/attention/cudnn/cudnn_graphs.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace strata::device::cuda {
namespace {

struct Gpu {
  int version;  // 10 * compute capability
  const char* name;
  int multiprocessors;
  int shared_memory;  // bytes that a block may have
};
constexpr Gpu kGpus[] = {{80, "NVIDIA A100", 108, 166912}, {90, "NVIDIA H200", 132, 232448}};

// A GPU in cuDNN's format, so that it need not be present.
std::string properties_of(const Gpu& gpu) {
  return fmt::format(
      R"({{"cudaDeviceId": 0, "deviceVer": {}, "driverVer": 13000, "cudaDriverVer": 13000,
      "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
      "regsPerBlock": 65536, "multiProcessorCount": {}, "warpSize": 32,
      "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": {},
      "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
      "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
      "supportCoopLaunch": 1, "smClockRateKHz": 1500000, "memClockRateKHz": 2000000,
      "l2CacheSize": 41943040, "deviceName": "{}", "totalGlobalMem": 80000000000}})",
      10 * gpu.version, gpu.multiprocessors, gpu.shared_memory, gpu.name);
}

class CudnnGraphs : public testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    // cuDNN requires a driver; the toolkit's stub, which does nothing, suffices.
    if (!dlopen("libcuda.so.1", RTLD_NOW) && !dlopen(STRATA_CUDA_STUB, RTLD_NOW)) {
      GTEST_SKIP() << dlerror();
    }
    try {
      load_cudnn();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Returns the number of plans that cuDNN offers.
  int64_t plans(CudnnPass pass, const CudnnShape& shape) {
    return count_cudnn_plans(properties_of(GetParam()), GetParam().version, pass, shape);
  }
};

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnGraphs, testing::ValuesIn(kGpus),
                         [](const auto& test) { return fmt::format("sm_{}", test.param.version); });

TEST_P(CudnnGraphs, AreSupportedByCudnn) {
  for (const int64_t sequences : {1, 3, 97}) {
    for (const int64_t max_length : {128, 512}) {
      for (const int64_t head_size : {32, 64}) {
        const CudnnShape shape{sequences, max_length, 16, head_size};
        SCOPED_TRACE(fmt::format("{} x {}, heads of {}", sequences, max_length, head_size));
        EXPECT_GE(plans(CudnnPass::kForward, shape), 1);
        if (GetParam().version == 80) {
          EXPECT_THROW(plans(CudnnPass::kBackward, shape), Error) << "has other bits every time";
        } else {
          EXPECT_GE(plans(CudnnPass::kBackward, shape), 1);
        }
      }
    }
  }
}

TEST_P(CudnnGraphs, UnsupportedShapesAreAnError) {
  EXPECT_THROW(plans(CudnnPass::kForward, {3, 512, 16, 20}), Error);
}

}  // namespace
}  // namespace strata::device::cuda
