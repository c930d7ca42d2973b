#include "plan/step_forms.h"

#include <algorithm>
#include <cmath>
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

double exposed_communication(double communication, double tail, double backward) {
  return std::max(tail * communication, communication - backward);
}

double all_reduce_seconds(const Link& link, double bytes, int64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  const double messages = std::min(2 * (n - 1), 2 * std::ceil(std::log2(n)));
  return 2 * (n - 1) / n * bytes / link.bytes_per_second + messages * link.latency;
}

double bubble_share(int64_t stages, int64_t runs, int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches * runs);
}

double bubble_with(const BubbleParts& parts) {
  return std::max(parts.paper + parts.messages, parts.heads);
}

int64_t message_bytes(int64_t runs, int64_t tokens, int64_t hidden, int64_t element_bytes) {
  return 2 * runs * tokens * hidden * element_bytes;
}

double layer_activation_bytes(double tokens, double hidden, double intermediate, double heads,
                              double compute_bytes, double master_bytes) {
  return tokens * (7 * hidden + 2 * intermediate) * compute_bytes +
         tokens * (heads + 2) * master_bytes;
}

}  // namespace strata::plan
