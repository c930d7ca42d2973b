#include "bert/blocks/standardizer.h"

#include <algorithm>

namespace strata::bert {

using device::LossTotals;
using device::StandardizationAxis;

namespace {

size_t statistics_bytes(const device::Backend& backend, const BertConfig& config,
                        const BatchCapacity& capacity) {
  const int64_t elements = std::max({config.hidden_size, capacity.tokens, capacity.masked});
  return static_cast<size_t>(elements) * size_of(backend.master_dtype());
}

}  // namespace

Standardizer::Standardizer(device::Backend& backend, const BertConfig& config,
                           const BatchCapacity& capacity, StandardizationAxis axis)
    : backend_(backend),
      axis_(axis),
      mean_(backend, statistics_bytes(backend, config, capacity)),
      slope_(backend, statistics_bytes(backend, config, capacity)),
      totals_(backend, sizeof(LossTotals)),
      host_totals_(backend, sizeof(LossTotals)) {}

device::StandardizationGradient Standardizer::gradient(const MicroBatch& micro_batch, RowsOf rows,
                                                       device::ConstTensor x) {
  const bool of_tokens = rows == RowsOf::kTokens;
  const StepValues* step = micro_batch.step;
  const auto statistics = [&](const device::Buffer& buffer) -> device::Tensor {
    return {buffer.data(), backend_.master_dtype(), 1,
            axis_ == StandardizationAxis::kUnit ? x.cols : x.rows};
  };
  const device::StandardizationLoss op{
      .x = x,
      .rows = of_tokens ? micro_batch.batch->token_count() : micro_batch.batch->masked_count(),
      .axis = axis_,
      .gradient_scale = device::value_at(of_tokens ? &step->standardization_scale
                                                   : &step->masked_standardization_scale),
      .mean = statistics(mean_),
      .slope = statistics(slope_),
      .totals = totals_.as<LossTotals>()};
  backend_.standardization_loss(kCompute, op);
  return {.axis = axis_,
          .mean = op.mean,
          .slope = op.slope,
          .scale = op.gradient_scale,
          .rows = op.rows};
}

LossTotals Standardizer::take_totals() {
  const auto* const totals = host_totals_.as<LossTotals>();
  backend_.copy_to_host(kCompute, host_totals_.as<LossTotals>(), totals_.data(), totals_.bytes());
  backend_.synchronize(kCompute);
  backend_.fill_zero(kCompute, totals_.data(), totals_.bytes());
  return *totals;
}

}  // namespace strata::bert
