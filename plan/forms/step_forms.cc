#include "plan/forms/step_forms.h"

#include <algorithm>
#include <cstddef>

namespace strata::plan {

double exposed_communication(std::span<const double> seconds, std::span<const double> before_end) {
  double left = 0, exposed = 0;
  for (size_t i = seconds.size(); i-- > 0;) {
    left += seconds[i];
    exposed = std::max(exposed, left - before_end[i]);
  }
  return exposed;
}

double exposed_communication(const Pieces& pieces, int64_t layers, double backward) {
  const double share = 1.0 / static_cast<double>(layers);
  return std::max({pieces.layers * share + pieces.late,
                   pieces.layers + pieces.late - backward * (1 - share),
                   pieces.total() - backward});
}

double bubble_share(int64_t stages, int64_t runs, int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches * runs);
}

double bubble_with(const BubbleParts& parts) {
  return std::max(parts.paper + parts.messages, parts.heads);
}

double pass_bubble(const PipelinePass& pass) {
  const auto n = static_cast<double>(pass.micro_batches);
  const auto stages = static_cast<double>(pass.stages), runs = static_cast<double>(pass.runs);
  const double last = std::max(n * pass.run, n * pass.message + pass.reduction);
  const double first = std::max(last, stages * (pass.run + pass.message + pass.reduction));
  return (runs - 1) * first + last + (stages - 1) * (pass.run + pass.message) - n * runs * pass.run;
}

double longest_backward_share(int64_t modules, int64_t layers, double heads_share) {
  const int64_t each = layers / modules, most = each + (layers % modules > 0 ? 1 : 0);
  const auto all = static_cast<double>(layers);
  return std::max(2 * static_cast<double>(each) / all + heads_share,
                  static_cast<double>(most) / all) /
         (1 + heads_share);
}

int64_t message_bytes(int64_t runs, int64_t tokens, int64_t hidden, int64_t element_bytes) {
  return 2 * runs * tokens * hidden * element_bytes;
}

double layer_activation_bytes(double tokens, double hidden, double intermediate, double heads,
                              double compute_bytes, double master_bytes) {
  return tokens * (7 * hidden + 2 * intermediate) * compute_bytes +
         tokens * (heads + 2) * master_bytes;
}

double workspace_bytes(double tokens, double hidden, double intermediate, double compute_bytes) {
  return tokens * (6 * hidden + intermediate) * compute_bytes;
}

}  // namespace strata::plan
