#include "bench/devices/rounding_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
#include "device/plain/activation.h"
#include "device/sample/sample_backend.h"

namespace strata::bench {
namespace {

using device::LinearForward;
using device::Stream;

constexpr int kFloatMantissa = 23;
// A tile's sums are independent, so that additions need not wait for each other.
constexpr size_t kRows = 4, kColumns = 16;
using Tile = std::array<std::array<float, kColumns>, kRows>;

float to_bf16(float value) { return static_cast<float>(device::BFloat16(value)); }

class Rounder {
 public:
  explicit Rounder(int mantissa_bits) : dropped_(kFloatMantissa - mantissa_bits) {}

  // Rounds to the nearest number of the format, which has float's exponents.
  float operator()(float value) const {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t odd = (bits >> dropped_) & 1;
    return std::bit_cast<float>((bits + below_half_ + odd) & mask_);
  }

 private:
  int dropped_;
  uint32_t below_half_ = (uint32_t{1} << (dropped_ - 1)) - 1;
  uint32_t mask_ = ~((uint32_t{1} << dropped_) - 1);
};

// Sums for kRows x kColumns dot products. Level 0 adds up products; every other level adds up the
// chunk sums of the level below.
class TileSum {
 public:
  TileSum(const Accumulator& accumulator, int64_t terms)
      : round_(accumulator.mantissa_bits), chunk_(accumulator.chunk) {
    levels_.resize(1);
    for (int64_t left = terms; chunk_ > 0 && left > chunk_; left = (left + chunk_ - 1) / chunk_) {
      levels_.emplace_back();
    }
  }

  // Returns the sums for x: [kRows] rows of `terms`, `stride` apart; weight: [terms, kColumns].
  const Tile& add_up(const float* x, int64_t stride, const float* weight, int64_t terms) {
    for (Level& level : levels_) level = {};
    for (int64_t begin = 0; begin < terms;) {
      const int64_t end = chunk_ > 0 ? std::min(begin + chunk_, terms) : terms;
      Tile& sum = levels_[0].sum;
      for (int64_t k = begin; k < end; ++k) {
        for (size_t row = 0; row < kRows; ++row) {
          const float factor = x[static_cast<int64_t>(row) * stride + k];
          for (size_t column = 0; column < kColumns; ++column) {
            sum[row][column] = round_(
                sum[row][column] +
                factor * weight[k * static_cast<int64_t>(kColumns) + static_cast<int64_t>(column)]);
          }
        }
      }
      begin = end;
      for (size_t level = 0; level + 1 < levels_.size(); ++level) {
        const bool is_full = level == 0 || levels_[level].count == chunk_ || begin == terms;
        if (!is_full) break;
        push(level);
      }
    }
    return levels_.back().sum;
  }

 private:
  struct Level {
    Tile sum = {};
    int64_t count = 0;  // added terms; not counted on level 0
  };

  // Makes a level's sum a term of the level above.
  void push(size_t level) {
    Level& from = levels_[level];
    Level& to = levels_[level + 1];
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t column = 0; column < kColumns; ++column) {
        to.sum[row][column] = round_(to.sum[row][column] + from.sum[row][column]);
      }
    }
    ++to.count;
    from = {};
  }

  Rounder round_;
  int64_t chunk_;
  std::vector<Level> levels_;
};

class RoundingDevice final : public device::sample::SampleBackend {
 public:
  RoundingDevice(const Accumulator& accumulator, unsigned threads)
      : accumulator_(accumulator), threads_(threads) {
    const auto [bits, chunk] = accumulator;
    if (bits < 0 || bits > 22 || chunk < 0 || chunk == 1) {
      fail("sums of {} mantissa bits in chunks of {}: use 1 to 22 bits and chunks of at least 2",
           bits, chunk);
    }
  }

  std::string name() const override { return "rounding"; }
  std::string description() const override {
    return fmt::format("plain loops, sums of linear layers in {}",
                       counted(accumulator_.mantissa_bits, "mantissa bit"));
  }

  void linear_forward(Stream stream, const LinearForward& op) override {
    const std::vector<float> x = operand(op.x, kRows);
    const std::vector<float> weight = operand(op.weight, 1);
    if (accumulator_.mantissa_bits == 0) {
      LinearForward exact = op;
      exact.x.data = x.data();
      exact.weight.data = weight.data();
      return SampleBackend::linear_forward(stream, exact);
    }
    const auto columns = static_cast<size_t>(op.weight.rows);
    parallel_for((columns + kColumns - 1) / kColumns, threads_, [&](size_t block) {
      add_up(op, x, weight, static_cast<int64_t>(block * kColumns));
    });
  }

 private:
  // Returns the values rounded to bf16, with zero rows up to a multiple of `multiple`.
  static std::vector<float> operand(const device::ConstTensor& tensor, size_t multiple) {
    const size_t rows = (static_cast<size_t>(tensor.rows) + multiple - 1) / multiple * multiple;
    std::vector<float> values(rows * static_cast<size_t>(tensor.cols));
    std::transform(tensor.as<float>(), tensor.as<float>() + tensor.size(), values.begin(), to_bf16);
    return values;
  }

  // Computes the outputs of one tile, from `begin` on.
  void add_up(const LinearForward& op, const std::vector<float>& x,
              const std::vector<float>& weight, int64_t begin) const {
    const int64_t tokens = op.x.rows, in = op.weight.cols, out = op.weight.rows;
    const auto columns = std::min(static_cast<int64_t>(kColumns), out - begin);
    std::vector<float> turned(static_cast<size_t>(in) * kColumns);
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t k = 0; k < in; ++k) {
        turned[static_cast<size_t>(k) * kColumns + static_cast<size_t>(column)] =
            weight[static_cast<size_t>((begin + column) * in + k)];
      }
    }
    TileSum sum(accumulator_, in);
    for (int64_t first = 0; first < tokens; first += static_cast<int64_t>(kRows)) {
      const Tile& tile = sum.add_up(x.data() + first * in, in, turned.data(), in);
      const auto rows = std::min(static_cast<int64_t>(kRows), tokens - first);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
          const int64_t at = (first + row) * out + begin + column;
          const float value = tile[static_cast<size_t>(row)][static_cast<size_t>(column)] +
                              op.bias.as<float>()[begin + column];
          if (op.pre_activation) op.pre_activation.as<float>()[at] = value;
          op.y.as<float>()[at] = static_cast<float>(device::plain::activate(op.activation, value));
        }
      }
    }
  }

  Accumulator accumulator_;
  unsigned threads_;
};

}  // namespace

std::unique_ptr<device::Backend> make_rounding_device(const Accumulator& accumulator,
                                                      unsigned threads) {
  return std::make_unique<RoundingDevice>(accumulator, threads);
}

}  // namespace strata::bench
