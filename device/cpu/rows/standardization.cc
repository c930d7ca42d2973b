// The standardization loss. Rows are processed in blocks of fixed size for any number of threads,
// and blocks are added in order.
#include <algorithm>

#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

constexpr int64_t kBlockRows = 64;  // small enough to stay in the cache for two passes

int64_t blocks_of(int64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }
int64_t rows_of(int64_t block, int64_t rows) {
  return std::min(kBlockRows, rows - block * kBlockRows);
}

// Combines column_moments() of blocks of rows: means and variances of columns [begin, end) over all
// rows.
void combine_blocks(int64_t rows, int64_t columns, int64_t begin, int64_t end, const float* means,
                    const float* squares, float* mean, float* variance) {
  constexpr int64_t kAtOnce = 64;
  const auto count = static_cast<double>(rows);
  for (int64_t first = begin; first < end; first += kAtOnce) {
    const int64_t width = std::min(kAtOnce, end - first);
    double centres[kAtOnce] = {}, sums[kAtOnce] = {};
    for (int64_t block = 0; block < blocks_of(rows); ++block) {
      const auto rows_here = static_cast<double>(rows_of(block, rows));
      const float* of_block = means + block * columns + first;
      for (int64_t i = 0; i < width; ++i) centres[i] += rows_here * of_block[i];
    }
    for (double& centre : centres) centre /= count;
    for (int64_t block = 0; block < blocks_of(rows); ++block) {
      const auto rows_here = static_cast<double>(rows_of(block, rows));
      const int64_t place = block * columns + first;
      for (int64_t i = 0; i < width; ++i) {
        const double apart = means[place + i] - centres[i];
        sums[i] += squares[place + i] + rows_here * apart * apart;
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      mean[first + i] = static_cast<float>(centres[i]);
      variance[first + i] = static_cast<float>(sums[i] / count);
    }
  }
}

}  // namespace

template <typename T>
void Operations<T>::standardization_loss(const Context& context, const StandardizationLoss& op) {
  const int64_t rows = op.rows.now(), columns = op.x.cols;
  const bool of_units = op.axis == StandardizationAxis::kUnit;
  const T* x = op.x.as<T>();
  float *mean = op.mean.as<float>(), *slope = op.slope.as<float>();
  std::fill_n(mean, op.mean.size(), 0.0f);
  std::fill_n(slope, op.slope.size(), 0.0f);
  if (rows == 0) return;

  float* const variance = slope;
  const TypedKernels<T>& kernels = context.typed<T>();
  if (of_units) {
    const int64_t blocks = blocks_of(rows);
    float* means = context.scratch[0].get<float>(blocks * columns);
    float* squares = context.scratch[1].get<float>(blocks * columns);
    parallel_ranges(context.threads, blocks, [&](int64_t first, int64_t last, int) {
      for (int64_t block = first; block < last; ++block) {
        const int64_t begin = block * kBlockRows;
        kernels.column_moments(rows_of(block, rows), columns, x + begin * columns,
                               means + block * columns, squares + block * columns);
      }
    });
    parallel_ranges(context.threads, columns, [&](int64_t begin, int64_t end, int) {
      combine_blocks(rows, columns, begin, end, means, squares, mean, variance);
    });
  } else {
    parallel_ranges(context.threads, rows, [&](int64_t begin, int64_t end, int) {
      kernels.row_moments(end - begin, columns, x + begin * columns, mean + begin, variance + begin,
                          row_scratch(columns));
    });
  }

  const int64_t groups = of_units ? columns : rows;
  const double scale = op.gradient_scale.now();
  double loss = 0;
  for (int64_t i = 0; i < groups; ++i) {
    loss += device::standardization_loss(mean[i], variance[i]);
    slope[i] = static_cast<float>(standardization_slope(scale, variance[i]));
  }
  op.totals->loss += loss * static_cast<double>(rows) / static_cast<double>(groups);
  op.totals->count += rows;
}

STRATA_INSTANTIATE(standardization_loss, StandardizationLoss);

}  // namespace strata::device::cpu
