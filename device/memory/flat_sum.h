// Adds one flat tensor to another with scatter_add_rows, which every backend has.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::device {

class FlatSum {
 public:
  // For tensors of up to `most` elements. `backend` must outlive this object.
  FlatSum(Backend& backend, int64_t most)
      : backend_(backend),
        rows_(backend, static_cast<size_t>(most / kColumns + 1) * sizeof(int32_t)) {
    std::vector<int32_t> rows(rows_.bytes() / sizeof(int32_t));
    std::iota(rows.begin(), rows.end(), 0);
    backend.copy_to_device(Stream::kCopy, rows_.data(), rows.data(), rows_.bytes());
    backend.synchronize(Stream::kCopy);
  }

  // Adds x to `sum`. Both have the same size, and both the compute dtype or both the master dtype.
  void add(Stream stream, const Tensor& x, const Tensor& sum) const {
    const int64_t rows = x.size() / kColumns, in_rows = rows * kColumns;
    add_rows(stream, x, sum, {0, in_rows}, rows);
    add_rows(stream, x, sum, {in_rows, x.size()}, 1);
  }

 private:
  static constexpr int64_t kColumns = 1024;

  void add_rows(Stream stream, const Tensor& x, const Tensor& sum, const Range& range,
                int64_t rows) const {
    if (range.size() == 0) return;
    const Tensor from = elements_of(x, range), to = elements_of(sum, range);
    const int64_t columns = range.size() / rows;
    backend_.scatter_add_rows(stream, {.dy = {from.data, from.dtype, rows, columns},
                                       .rows = rows_.as<int32_t>(),
                                       .dx = {to.data, to.dtype, rows, columns}});
  }

  Backend& backend_;
  Buffer rows_;  // [n] int32: 0, 1, ...
};

}  // namespace strata::device
