#include "bert/blocks/heads.h"

namespace strata::bert {

using device::LossTotals;

namespace {

constexpr int kHeads = 2;

}  // namespace

Heads::Heads(const BlockContext& context, const ParameterLayout& layout, int index)
    : Block(context, "heads", index, layout.group("heads")),
      masked_lm_(context, layout),
      next_sentence_(context, layout),
      totals_(context.backend, 2 * kHeads * sizeof(LossTotals)) {}

std::unique_ptr<BlockActivations> Heads::make_activations() const {
  auto saved = std::make_unique<Saved>();
  saved->masked_lm = masked_lm_.make_saved();
  saved->next_sentence = next_sentence_.make_saved();
  return saved;
}

void Heads::forward(const MicroBatch& micro_batch, const Activations& activations) {
  const auto& saved = activations.of<Saved>(index());
  const device::Tensor hidden = activations.input(index(), micro_batch.tokens());
  LossTotals* sums = totals(micro_batch.training);
  masked_lm_.forward(micro_batch, saved.masked_lm, hidden, sums);
  next_sentence_.forward(micro_batch, saved.next_sentence, hidden, sums + 1);
}

void Heads::backward(const MicroBatch& micro_batch, const Activations& activations) {
  const auto& saved = activations.of<Saved>(index());
  const device::Tensor d_hidden = activations.gradient(micro_batch.tokens());
  context_.backend.fill_zero(kCompute, d_hidden.data, d_hidden.bytes());
  masked_lm_.backward(micro_batch, saved.masked_lm, d_hidden);
  next_sentence_.backward(micro_batch, saved.next_sentence, d_hidden);
}

Losses Heads::take_losses(bool training) {
  LossTotals sums[kHeads];
  context_.backend.copy_to_host(kCompute, sums, totals(training), sizeof sums);
  context_.backend.synchronize(kCompute);
  context_.backend.fill_zero(kCompute, totals(training), sizeof sums);
  return {sums[0], sums[1]};
}

LossTotals* Heads::totals(bool training) const {
  return totals_.as<LossTotals>() + (training ? 0 : kHeads);
}

}  // namespace strata::bert
