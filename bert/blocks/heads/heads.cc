#include "bert/blocks/heads/heads.h"

#include "bert/blocks/workspace.h"

namespace strata::bert {

using device::LossTotals;

namespace {

constexpr int kHeads = 2;

}  // namespace

Heads::Heads(const BlockContext& context, const ParameterLayout& layout, int index)
    : Block(context, "heads", index, layout.group("heads")),
      norm_(context, layout.final_norm),
      masked_lm_(context, layout),
      next_sentence_(context, layout),
      totals_(context.backend, 2 * kHeads * sizeof(LossTotals)),
      host_totals_(context.backend, kHeads * sizeof(LossTotals)) {}

std::unique_ptr<BlockActivations> Heads::make_activations() const {
  auto saved = std::make_unique<Saved>();
  saved->masked_lm = masked_lm_.make_saved();
  saved->next_sentence = next_sentence_.make_saved();
  if (normalizes()) {
    saved->norm = norm_.make_saved();
    saved->normed =
        context_.activation_buffer(context_.capacity.tokens * context_.config.hidden_size);
  }
  return saved;
}

void Heads::forward(const MicroBatch& micro_batch, const Activations& activations) {
  const auto& saved = activations.of<Saved>(index());
  const int64_t tokens = micro_batch.tokens();
  device::Tensor hidden = activations.input(index(), tokens);
  if (normalizes()) {
    const device::Tensor stream = hidden;
    hidden = context_.activation(saved.normed, tokens, context_.config.hidden_size);
    norm_.forward(micro_batch, saved.norm, {.x = stream, .y = hidden});
  }
  LossTotals* sums = totals(micro_batch.training);
  masked_lm_.forward(micro_batch, saved.masked_lm, hidden, sums);
  next_sentence_.forward(micro_batch, saved.next_sentence, hidden, sums + 1);
}

void Heads::backward(const MicroBatch& micro_batch, const Activations& activations) {
  const auto& saved = activations.of<Saved>(index());
  const int64_t tokens = micro_batch.tokens();
  const device::Tensor d_input = activations.gradient(tokens);
  const device::Tensor d_hidden =
      normalizes()
          ? context_.activation(context_.workspace.sublayer, tokens, context_.config.hidden_size)
          : d_input;
  context_.backend.fill_zero(kCompute, d_hidden.data, d_hidden.bytes());
  masked_lm_.backward(micro_batch, saved.masked_lm, d_hidden);
  next_sentence_.backward(micro_batch, saved.next_sentence, d_hidden);
  if (normalizes()) norm_.backward(micro_batch, saved.norm, {.dy = d_hidden, .d_x = d_input});
}

Losses Heads::take_losses(bool training) {
  auto* const sums = host_totals_.as<LossTotals>();
  context_.backend.copy_to_host(kCompute, sums, totals(training), host_totals_.bytes());
  context_.backend.synchronize(kCompute);
  context_.backend.fill_zero(kCompute, totals(training), host_totals_.bytes());
  return {.masked_lm = sums[0], .next_sentence = sums[1]};
}

LossTotals* Heads::totals(bool training) const {
  return totals_.as<LossTotals>() + (training ? 0 : kHeads);
}

}  // namespace strata::bert
