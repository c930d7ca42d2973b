#include "plan/forms/network.h"

#include <algorithm>
#include <cmath>

namespace strata::plan {
namespace {

// Latencies are NCCL's estimates for a ring's hop (src/graph/tuning.cc, protocol Simple).
constexpr double kNvlinkLatency = 3.4e-6, kPcieLatency = 5.7e-6;

constexpr DomainPreset kPresets[] = {
    {"nvlink-a100", "8 A100 on NVLink 3 and NVSwitch", 8, {kNvlinkLatency, 300e9}},
    {"nvlink-h100", "8 H100 or H200 on NVLink 4 and NVSwitch", 8, {kNvlinkLatency, 450e9}},
    {"nvl72", "72 Blackwell GPUs of a rack on NVLink 5", 72, {kNvlinkLatency, 900e9}},
    {"pcie4", "4 accelerators on PCIe 4.0 x16", 4, {kPcieLatency, 31.5e9}},
    {"pcie5", "4 accelerators on PCIe 5.0 x16", 4, {kPcieLatency, 63e9}},
};

}  // namespace

double all_reduce_seconds(const Link& link, double bytes, int64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  const double messages = std::min(2 * (n - 1), 2 * std::ceil(std::log2(n)));
  return 2 * (n - 1) / n * bytes / link.bytes_per_second + messages * link.latency;
}

Network flat_network(const Link& link) { return {.card = link}; }

double all_reduce_seconds(const Network& network, double bytes, int64_t ranks) {
  const Link cards{network.card.latency, network.cards * network.card.bytes_per_second};
  return all_reduce_seconds(network.inside, bytes, std::min(network.domain, ranks)) +
         all_reduce_seconds(cards, bytes, domains_of(network, ranks));
}

int64_t domains_of(const Network& network, int64_t ranks) {
  return (ranks + network.domain - 1) / network.domain;
}

Network network_of_group(const Network& network, int64_t groups) {
  if (groups < 2) return network;
  Network seen = network;
  seen.domain = std::max<int64_t>(1, network.domain / groups);
  // All ranks of a domain share its cards.
  seen.cards *= static_cast<double>(seen.domain) / static_cast<double>(network.domain);
  return seen;
}

Link link_between_neighbours(const Network& network, int64_t group) {
  if (group <= network.domain && network.domain % group == 0) return network.inside;
  return {network.card.latency,
          network.cards * network.card.bytes_per_second / static_cast<double>(network.domain)};
}

std::span<const DomainPreset> domain_presets() { return kPresets; }

}  // namespace strata::plan
