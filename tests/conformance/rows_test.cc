#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct Shape {
  int64_t tokens, rows, hidden;
};

constexpr Shape kShapes[] = {{1, 1, 64}, {1, 0, 64}, {37, 5, 128}, {129, 129, 64}, {515, 77, 384}};

class Rows : public Conformance {
 protected:
  void for_every_shape(const std::function<void(const Shape&)>& check) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(fmt::format("T {}, M {}, H {}", shape.tokens, shape.rows, shape.hidden));
      check(shape);
    }
  }
};

TEST_P(Rows, Gather) {
  for_every_shape([&](const Shape& shape) {
    Inputs inputs(backend(), 1);
    const HostMatrix x = inputs.compute(shape.tokens, shape.hidden);
    const std::vector<int32_t> rows = inputs.indices(shape.rows, shape.tokens);
    expect_conforms(backend(), [&](Bench& bench) {
      bench.backend().gather_rows(Stream::kCompute,
                                  {bench.compute(x), bench.indices(rows),
                                   bench.compute_output("y", shape.rows, shape.hidden)});
    });
  });
}

TEST_P(Rows, ScatterAdd) {
  for_every_shape([&](const Shape& shape) {
    Inputs inputs(backend(), 2);
    const HostMatrix dy = inputs.compute(shape.rows, shape.hidden);
    const HostMatrix before = inputs.compute(shape.tokens, shape.hidden);
    const std::vector<int32_t> rows = inputs.distinct_indices(shape.rows, shape.tokens);
    expect_conforms(backend(), [&](Bench& bench) {
      bench.backend().scatter_add_rows(Stream::kCompute, {bench.compute(dy), bench.indices(rows),
                                                          bench.compute_inout("dx", before)});
    });
  });
}

// These are gradients of parameters.
TEST_P(Rows, WorkInTheMasterDtype) {
  for_every_shape([&](const Shape& shape) {
    Inputs inputs(backend(), 4);
    const HostMatrix x = inputs.master(shape.tokens, shape.hidden);
    const HostMatrix dy = inputs.master(shape.rows, shape.hidden);
    const std::vector<int32_t> rows = inputs.distinct_indices(shape.rows, shape.tokens);
    expect_conforms(backend(), [&](Bench& bench) {
      bench.backend().gather_rows(Stream::kCompute,
                                  {bench.master(x), bench.indices(rows),
                                   bench.master_output("y", shape.rows, shape.hidden)});
      bench.backend().scatter_add_rows(
          Stream::kCompute, {bench.master(dy), bench.indices(rows), bench.master_inout("dx", x)});
    });
  });
}

// Padding of a batch consists of such rows.
TEST_P(Rows, NumberMinusOneGivesZerosAndAddsNothing) {
  for (const int64_t hidden : {64, 90}) {
    Inputs inputs(backend(), 3);
    const HostMatrix x = inputs.compute(20, hidden), dy = inputs.compute(9, hidden);
    const std::vector<int32_t> rows = {4, -1, 19, 0, -1, 7, 3, -1, -1};
    const OperationCall gather = [&](Bench& bench) {
      bench.backend().gather_rows(Stream::kCompute, {bench.compute(x), bench.indices(rows),
                                                     bench.compute_output("y", 9, hidden)});
    };
    EXPECT_EQ(run_on_reference(gather).at("y").values[static_cast<size_t>(hidden)], 0);
    expect_conforms(backend(), gather);
    expect_conforms(backend(), [&](Bench& bench) {
      bench.backend().scatter_add_rows(
          Stream::kCompute, {bench.compute(dy), bench.indices(rows), bench.compute_inout("dx", x)});
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Rows, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
