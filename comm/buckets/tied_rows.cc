#include "comm/buckets/tied_rows.h"

#include "base/error.h"

namespace strata::comm {

using device::Stream;
using device::Tensor;

namespace {

constexpr uint16_t kOne = 0x3f80;  // in bf16

}  // namespace

RowExchange::RowExchange(device::Backend& backend, Communicator& communicator, Tensor table,
                         Tensor sparse, device::DType reduce_dtype)
    : backend_(backend),
      communicator_(communicator),
      table_(table),
      sparse_(sparse),
      reduce_dtype_(reduce_dtype),
      touched_(static_cast<size_t>(sparse.rows)) {
  if (sparse.size() != table.size() || sparse.dtype != table.dtype) {
    fail("{} sparse gradients for a table of {}: number and dtype must be equal", sparse.size(),
         table.size());
  }
  table_.rows = sparse_.rows;
  table_.cols = sparse_.cols;
  summed_ = device::Buffer(backend, sparse_.bytes());
  if (communicator.size() > 1 && reduce_dtype != sparse_.dtype) {
    reduced_ = device::Buffer(backend, static_cast<size_t>(sparse_.size()) * size_of(reduce_dtype));
  }
  rows_.reserve(static_cast<size_t>(sparse_.rows));
}

void RowExchange::announce(std::span<const uint8_t> touched) {
  if (touched.size() != touched_.size()) {
    fail("{} rows were announced, but the table has {}", touched.size(), touched_.size());
  }
  for (size_t row = 0; row < touched.size(); ++row) touched_[row] = touched[row] != 0 ? kOne : 0;
}

void RowExchange::reduce_touched() {
  communicator_.all_reduce_sum(touched_.data(), std::ssize(touched_), device::DType::kBF16);
  rows_.clear();
  for (size_t row = 0; row < touched_.size(); ++row) {
    if (touched_[row] != 0) rows_.push_back(static_cast<int32_t>(row));
  }
}

void RowExchange::collect() {
  backend_.gather_rows(Stream::kReduce, {.x = sparse_, .rows = rows_.data(), .y = summed()});
  if (converts()) {
    backend_.convert(Stream::kReduce, {.source = summed(), .destination = reduced()});
  }
  backend_.synchronize(Stream::kReduce);
}

void RowExchange::reduce() {
  const Tensor data = converts() ? reduced() : summed();
  communicator_.all_reduce_sum(data.data, data.size(), data.dtype);
}

void RowExchange::add() {
  if (converts()) {
    backend_.convert(Stream::kReduce, {.source = reduced(), .destination = summed()});
  }
  backend_.scatter_add_rows(Stream::kReduce, {.dy = summed(), .rows = rows_.data(), .dx = table_});
  backend_.fill_zero(Stream::kReduce, sparse_.data, sparse_.bytes());
  backend_.synchronize(Stream::kReduce);  // the next step may overwrite the rows
}

Tensor RowExchange::summed() const { return {summed_.data(), sparse_.dtype, rows(), sparse_.cols}; }
Tensor RowExchange::reduced() const {
  return {reduced_.data(), reduce_dtype_, rows(), sparse_.cols};
}

}  // namespace strata::comm
