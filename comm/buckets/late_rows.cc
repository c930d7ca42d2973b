#include "comm/buckets/late_rows.h"

#include "base/error.h"

namespace strata::comm {

using device::Stream;
using device::Tensor;

namespace {

constexpr uint16_t kOne = 0x3f80;  // in bf16

}  // namespace

RowExchange::RowExchange(device::Backend& backend, Communicator& communicator, Tensor table,
                         Tensor late, device::DType reduce_dtype)
    : backend_(backend),
      communicator_(communicator),
      table_(table),
      late_(late),
      reduce_dtype_(reduce_dtype),
      touched_(static_cast<size_t>(late.rows)) {
  if (late.size() != table.size() || late.dtype != table.dtype) {
    fail("{} late gradients of a table of {}: they must be equally many, of one dtype", late.size(),
         table.size());
  }
  table_.rows = late_.rows;
  table_.cols = late_.cols;
  summed_ = device::Buffer(backend, late_.bytes());
  if (communicator.size() > 1 && reduce_dtype != late_.dtype) {
    reduced_ = device::Buffer(backend, static_cast<size_t>(late_.size()) * size_of(reduce_dtype));
  }
  rows_.reserve(static_cast<size_t>(late_.rows));
}

void RowExchange::announce(std::span<const uint8_t> touched) {
  if (touched.size() != touched_.size()) {
    fail("{} rows were announced of a table of {}", touched.size(), touched_.size());
  }
  for (size_t row = 0; row < touched.size(); ++row) touched_[row] = touched[row] != 0 ? kOne : 0;
}

void RowExchange::agree() {
  communicator_.all_reduce_sum(touched_.data(), std::ssize(touched_), device::DType::kBF16);
  rows_.clear();
  for (size_t row = 0; row < touched_.size(); ++row) {
    if (touched_[row] != 0) rows_.push_back(static_cast<int32_t>(row));
  }
}

void RowExchange::gather() {
  backend_.gather_rows(Stream::kReduce, {.x = late_, .rows = rows_.data(), .y = summed()});
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
  backend_.fill_zero(Stream::kReduce, late_.data, late_.bytes());
  backend_.synchronize(Stream::kReduce);  // the rows are another step's from here on
}

Tensor RowExchange::summed() const { return {summed_.data(), late_.dtype, rows(), late_.cols}; }
Tensor RowExchange::reduced() const { return {reduced_.data(), reduce_dtype_, rows(), late_.cols}; }

}  // namespace strata::comm
