#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr int64_t kPositions = 512;

struct Case {
  Packed batch;
  int64_t hidden;
  int64_t vocabulary;  // 1: all tokens add to the same row
  Dropout dropout;

  int64_t tokens() const { return batch.tokens(); }
};

struct Values {
  Values(const Backend& backend, const Case& c)
      : inputs(backend, 1),
        tokens(inputs.indices(c.tokens(), c.vocabulary)),
        segments(inputs.indices(c.tokens(), 2)),
        word(inputs.compute(c.vocabulary, c.hidden)),
        position(inputs.compute(kPositions, c.hidden)),
        segment(inputs.compute(2, c.hidden)),
        gamma(inputs.compute(1, c.hidden, 0.5, 1)),
        beta(inputs.compute(1, c.hidden, 0.5)),
        dy(inputs.compute(c.tokens(), c.hidden)) {}
  Inputs inputs;
  std::vector<int32_t> tokens, segments;
  HostMatrix word, position, segment, gamma, beta, dy;
};

OperationCall forward(const Case& c, const Values& values, bool keep) {
  return [=](Bench& bench) {
    EmbeddingsForward op;
    op.token_ids = bench.indices(values.tokens);
    op.segment_ids = bench.indices(values.segments);
    op.positions = bench.indices(c.batch.positions);
    op.sequences = bench.sequences(c.batch);
    op.word = bench.compute(values.word);
    op.position = bench.compute(values.position);
    op.segment = bench.compute(values.segment);
    op.gamma = bench.compute(values.gamma);
    op.beta = bench.compute(values.beta);
    op.dropout = bench.in_memory(c.dropout);
    if (keep) {
      op.normalized = bench.compute_output("normalized", c.tokens(), c.hidden);
      op.inverse_stddev = bench.master_output("inverse_stddev", 1, c.tokens());
    }
    op.y = bench.compute_output("y", c.tokens(), c.hidden);
    bench.backend().embeddings_forward(Stream::kCompute, op);
  };
}

class Embeddings : public Conformance {
 protected:
  void check_shape(const Packed& batch, int64_t hidden, int64_t vocabulary,
                   const std::function<void(const Case&)>& check) {
    for (const float probability : {0.0f, 0.1f}) {
      SCOPED_TRACE(fmt::format("{}, H {}, vocabulary {}, dropout {}", batch.description(), hidden,
                               vocabulary, probability));
      check({batch,
             hidden,
             vocabulary,
             {probability, dropout_step_key(1, 2), dropout_place(0, DropoutSite::kEmbeddings)}});
    }
  }

  void for_every_case(const std::function<void(const Case&)>& check) {
    for (const Packed& batch : packed_batches()) {
      check_shape(batch, 64, 100, check);
      check_shape(batch, 128, 1, check);
    }
    if (!few_shapes()) {
      check_shape(Packed({130, 7, 400, 1}), 384, 1000, check);
      check_shape(Packed({37, 1}), 64, 30522, check);
    }
    check_shape(Packed({37, 1}), 512, 100, check);
    check_shape(Packed({37, 1}), 1024, 100, check);
  }
};

TEST_P(Embeddings, Forward) {
  for_every_case([&](const Case& c) {
    for (const bool keep : {false, true}) {
      SCOPED_TRACE(keep ? "statistics kept" : "statistics absent");
      expect_conforms(backend(), forward(c, Values(backend(), c), keep));
    }
  });
}

TEST_P(Embeddings, Backward) {
  for_every_case([&](const Case& c) {
    Values values(backend(), c);
    auto saved = run_on_reference(forward(c, values, true));
    const HostMatrix normalized = rounded(saved["normalized"], backend().compute_dtype());
    const HostMatrix inverse_stddev = rounded(saved["inverse_stddev"], backend().master_dtype());
    const HostMatrix d_word = values.inputs.master(c.vocabulary, c.hidden);
    const HostMatrix d_position = values.inputs.master(kPositions, c.hidden);
    const HostMatrix d_segment = values.inputs.master(2, c.hidden);
    const HostMatrix d_gamma = values.inputs.master(1, c.hidden);
    const HostMatrix d_beta = values.inputs.master(1, c.hidden);
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(accumulate ? "added" : "written");
      expect_conforms(backend(), [&](Bench& bench) {
        EmbeddingsBackward op;
        op.token_ids = bench.indices(values.tokens);
        op.segment_ids = bench.indices(values.segments);
        op.positions = bench.indices(c.batch.positions);
        op.sequences = bench.sequences(c.batch);
        op.dy = bench.compute(values.dy);
        op.normalized = bench.compute(normalized);
        op.inverse_stddev = bench.master(inverse_stddev);
        op.gamma = bench.compute(values.gamma);
        op.dropout = bench.in_memory(c.dropout);
        op.d_word = bench.master_inout("d_word", d_word);
        op.d_position = bench.master_inout("d_position", d_position);
        op.d_segment = bench.master_inout("d_segment", d_segment);
        op.accumulate = accumulate;
        op.d_gamma = bench.gradient("d_gamma", d_gamma, accumulate);
        op.d_beta = bench.gradient("d_beta", d_beta, accumulate);
        bench.backend().embeddings_backward(Stream::kCompute, op);
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Embeddings, testing::ValuesIn(tested_backends()),
                         name_of_backend);

}  // namespace
}  // namespace strata::device
