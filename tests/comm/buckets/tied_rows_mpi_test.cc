// Gradients of a table with sparse rows that complete last.

#include "comm/buckets/gradient_buckets.h"
#include "tests/comm/buckets/bucket_step.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::comm {
namespace {

using device::DType;
using testing_support::element;
using testing_support::set_element;

constexpr int64_t kColumns = 10;

struct Case {
  ClipMode clip;
  DType reduce_dtype;
  Range table;  // begins at a boundary
};

class TiedRowsOverRanks : public testing::TestWithParam<Case> {
 protected:
  static constexpr float kMaxNorm = 1.5f;

  const Range& table() const { return GetParam().table; }
  int64_t rows() const { return table().size() / kColumns; }
  BucketOptions options() const {
    return {
        .clip = GetParam().clip,
        .max_norm = kMaxNorm,
        .reduce_dtype = GetParam().reduce_dtype,
        .bucket_bytes = kBucketElements * static_cast<int64_t>(size_of(GetParam().reduce_dtype)),
        .tied_rows = {table(), {sparse_.data(), DType::kF32, rows(), kColumns}}};
  }

  // Ranks share some of the rows that they touch; the last rank touches none.
  bool touches(int rank, int64_t row, int step) const {
    return rank + 1 < world_->size() && (row + step) % (rank + 2) == 0;
  }
  static float sparse_gradient(int rank, int64_t place, int step) {
    return gradient_of(rank, 7 + step)[static_cast<size_t>(place)];
  }

  // Returns the gradient of `rank` at the end of a step: the dense part plus the sparse rows.
  std::vector<double> whole_gradient(int rank, int step) const {
    const std::vector<float> early = gradient_of(rank, step);
    std::vector<double> whole(early.begin(), early.end());
    for (int64_t i = 0; i < table().size(); ++i) {
      if (!touches(rank, i / kColumns, step)) continue;
      whole[static_cast<size_t>(table().begin + i)] += sparse_gradient(rank, i, step);
    }
    return whole;
  }

  void run_step(GradientBuckets& buckets, int step) {
    std::fill(step_.applied.begin(), step_.applied.end(), 0.0);
    std::vector<uint8_t> touched(static_cast<size_t>(rows()));
    for (int64_t row = 0; row < rows(); ++row) {
      touched[static_cast<size_t>(row)] = touches(world_->rank(), row, step) ? 1 : 0;
    }
    buckets.announce_rows(touched);
    step_.set(gradient_of(world_->rank(), step));
    buckets.mark_ready(table().begin, table().end);
    for (size_t i = 1; i < kBoundaries.size(); ++i) {
      if (kBoundaries[i - 1] != table().begin) {
        buckets.mark_ready(kBoundaries[i - 1], kBoundaries[i]);
      } else if (table().end < kBoundaries[i]) {
        buckets.mark_ready(table().end, kBoundaries[i]);
      }
    }
    const device::Tensor sparse = options().tied_rows.sparse;
    for (int64_t i = 0; i < sparse.size(); ++i) {
      EXPECT_EQ(element(sparse, i), 0) << "cleared by the step before";
      if (touched[static_cast<size_t>(i / kColumns)]) {
        set_element(sparse, i, sparse_gradient(world_->rank(), i, step));
      }
    }
    buckets.mark_rows_ready();
    buckets.finish_step();
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  BucketStep step_;
  device::Buffer sparse_{step_.backend, kGradients * sizeof(float)};
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ClipMode clip : {ClipMode::kNone, ClipMode::kAfterAllReduce}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const Range table : {Range{1000, 1600}, Range{1000, 1700}, Range{1700, 2010}}) {
        all.push_back({clip, dtype, table});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Modes, TiedRowsOverRanks, testing::ValuesIn(cases()),
                         [](const auto& param) {
                           return name_of(param.param.clip) + "_" +
                                  device::name_of(param.param.reduce_dtype) + "_" +
                                  std::to_string(param.param.table.end);
                         });

TEST_P(TiedRowsOverRanks, AreAppliedAsPartOfTheWholeGradient) {
  GradientBuckets buckets(step_.backend, *world_, step_.gradients(), kBoundaries, options(),
                          step_.update());
  EXPECT_EQ(buckets.buckets().front().begin, table().begin) << "the table is reduced first";
  int64_t elements = 0;
  for (const Range& bucket : buckets.buckets()) elements += bucket.size();
  EXPECT_EQ(elements, kGradients);
  const bool converts = GetParam().reduce_dtype == DType::kBF16 && world_->size() > 1;
  for (int step = 0; step < 3; ++step) {
    run_step(buckets, step);
    std::vector<std::vector<double>> ranks;
    for (int rank = 0; rank < world_->size(); ++rank) ranks.push_back(whole_gradient(rank, step));
    const auto expected = expected_gradient(ranks, GetParam().clip, kMaxNorm, {});
    double largest = 0, error = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      error = std::max(error, std::abs(step_.applied[i] - expected[i]));
    }
    EXPECT_LE(error, (converts ? 0x1p-6 : 1e-6) * largest) << "step " << step;
    if (GetParam().clip == ClipMode::kAfterAllReduce) {
      const double norm = norm_of(expected_gradient(ranks, ClipMode::kNone, 0, {}));
      EXPECT_NEAR(*buckets.gradient_norm(), norm, (converts ? 0x1p-7 : 1e-6) * norm);
    }
    int64_t touched = 0;
    for (int64_t row = 0; row < rows(); ++row) {
      bool any = false;
      for (int rank = 0; rank < world_->size(); ++rank) any |= touches(rank, row, step);
      touched += any ? 1 : 0;
    }
    EXPECT_EQ(buckets.tied_rows(), touched);
  }
}

TEST(TiedRows, WrongOptionsAreRefused) {
  const auto world = make_mpi_communicator();
  BucketStep step, on_device(DType::kF32, false);
  const device::Buffer sparse(step.backend, kGradients * sizeof(float));
  BucketOptions options{.tied_rows = {{1000, 1700}, {sparse.data(), DType::kF32, 70, kColumns}}};
  const auto make = [&](BucketStep& of) {
    return testing_support::error_of([&] {
      GradientBuckets(of.backend, *world, of.gradients(), kBoundaries, options, of.update());
    });
  };
  EXPECT_THAT(make(on_device), HasSubstr("in host memory only"));
  options.clip = ClipMode::kBucketBeforeAllReduce;
  EXPECT_THAT(make(step), HasSubstr("clipped after the reduction"));
  options.clip = ClipMode::kNone;
  options.tied_rows.sparse.rows = 69;
  EXPECT_THAT(make(step), HasSubstr("must be equal"));
}

TEST(TiedRows, MustBeReadyByTheEndOfAStep) {
  const auto single_rank = make_single_communicator();
  BucketStep step;
  const device::Buffer sparse(step.backend, kGradients * sizeof(float));
  GradientBuckets buckets(step.backend, *single_rank, step.gradients(), kBoundaries,
                          {.clip = ClipMode::kNone,
                           .tied_rows = {{1000, 1700}, {sparse.data(), DType::kF32, 70, kColumns}}},
                          step.update());
  EXPECT_THROW(buckets.mark_rows_ready(), Error) << "not announced";
  EXPECT_THROW(buckets.announce_rows(std::vector<uint8_t>(69)), Error);
  buckets.announce_rows(std::vector<uint8_t>(70));
  buckets.mark_ready(0, kGradients);
  EXPECT_THROW(buckets.finish_step(), Error);
}

}  // namespace
}  // namespace strata::comm
