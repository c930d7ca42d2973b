#include "bert/blocks/workspace.h"

namespace strata::bert {

Workspace::Workspace(device::Backend& backend, const BertConfig& config,
                     const BatchCapacity& capacity, bool float8) {
  const int64_t t = capacity.tokens, h = config.hidden_size, i = config.intermediate_size;
  const auto compute_buffer = [&](int64_t elements) {
    return device::Buffer(backend,
                          static_cast<size_t>(elements) * size_of(backend.compute_dtype()));
  };
  sublayer = compute_buffer(t * h);
  d_residual = compute_buffer(t * h);
  d_context = compute_buffer(t * h);
  d_intermediate = compute_buffer(t * i);
  d_query_key_value = compute_buffer(3 * t * h);
  if (!float8) return;
  const auto bytes = [&](int64_t count) {
    return device::Buffer(backend, static_cast<size_t>(count));
  };
  float8_dy = {.query_key_value = bytes(t * 3 * h),
               .attention_output = bytes(t * h),
               .intermediate = bytes(t * i),
               .output = bytes(t * h)};
}

}  // namespace strata::bert
