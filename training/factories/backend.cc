#include "training/factories/backend.h"

#include <vector>

#include "base/threads/processors.h"
#include "device/registry/backends.h"

namespace strata::training {
namespace {

RankProcessors processors_of(const LocalRank& local) {
  const auto affinities =
      local.affinities.empty()
          ? std::vector<std::vector<int>>(static_cast<size_t>(local.count), affinity())
          : local.affinities;
  return processors_of_rank(static_cast<size_t>(local.rank), affinities, numa_nodes(),
                            processor_quota());
}

}  // namespace

device::DType compute_dtype(const config::RunConfig& config) {
  const config::Precision precision = config.model.precision;
  const device::BackendKind& backend = *config.device.backend;
  if (precision == config::Precision::kFp16) return device::DType::kF16;
  const bool bf16 = precision == config::Precision::kBf16 ||
                    (precision != config::Precision::kFp32 && backend.bf16_is_native());
  const device::DType dtype = bf16 ? device::DType::kBF16 : device::DType::kF32;
  return backend.computes_in(dtype) ? dtype : backend.compute_dtypes.front();
}

int thread_count(const config::RunConfig& config, const LocalRank& local) {
  return config.device.threads.value_or(processors_of(local).threads);
}

std::unique_ptr<device::Backend> make_backend(const config::RunConfig& config,
                                              const LocalRank& local) {
  const int threads = thread_count(config, local);
  auto backend = device::make_backend({.name = config.device.backend->name,
                                       .compute_dtype = compute_dtype(config),
                                       .threads = threads,
                                       .device = local.rank,
                                       .options = config.device.options});
  // Binds before memory is touched. More threads than the node has processors stay unbound.
  const std::vector<int> bound = processors_of(local).bound;
  if (backend->memory_is_host() && threads <= std::ssize(bound)) set_affinity(bound);
  return backend;
}

std::unique_ptr<device::GraphCache> make_graph_cache(const config::RunConfig& config,
                                                     device::Backend& backend) {
  return config.device.graphs ? std::make_unique<device::GraphCache>(backend) : nullptr;
}

}  // namespace strata::training
