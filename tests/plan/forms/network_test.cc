#include "plan/forms/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace strata::plan {
namespace {

// Four domains of eight with two cards.
Network two_tiers() {
  return {.domain = 8, .inside = {1e-6, 3e11}, .cards = 2, .card = {5e-6, 25e9}};
}

TEST(Network, PhasesOfAHierarchicalAllReduceAddUp) {
  // Inside, 7/8 of the bytes leave an accelerator twice, in 2 x 3 messages of a tree. Between, 3/4
  // of them leave a domain twice, over both cards, in 2 x 2 messages.
  const double inside = 2 * 7.0 / 8 * 6e8 / 3e11 + 6e-6;
  const double between = 2 * 3.0 / 4 * 6e8 / 50e9 + 20e-6;
  EXPECT_NEAR(all_reduce_seconds(two_tiers(), 6e8, 32), inside + between, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(two_tiers(), 6e8, 8), inside, 1e-12);
  EXPECT_EQ(all_reduce_seconds(two_tiers(), 6e8, 1), 0);
}

// Runs the three phases on numbers and counts what leaves each accelerator and each domain.
TEST(Network, BytesMatchTheSimulatedPhases) {
  constexpr size_t kDomain = 4, kDomains = 3, kElements = 24;
  constexpr size_t kRanks = kDomain * kDomains, kPart = kElements / kDomain;
  std::vector<std::vector<double>> data(kRanks, std::vector<double>(kElements));
  for (size_t rank = 0; rank < kRanks; ++rank) {
    for (size_t i = 0; i < kElements; ++i) data[rank][i] = static_cast<double>(rank * 100 + i);
  }
  std::vector<double> sums(kElements);
  for (const auto& own : data) {
    std::ranges::transform(sums, own, sums.begin(), std::plus<>());
  }
  double inside = 0, between = 0;  // elements that all accelerators send
  const auto ring = [](std::vector<double*> parts, size_t length, bool reduce, bool gather) {
    // A ring of n sends n - 1 of n pieces in each of its halves.
    const size_t n = parts.size(), piece = length / n;
    double sent = 0;
    for (size_t step = 0; reduce && step + 1 < n; ++step) {
      std::vector<std::vector<double>> in_flight(n);
      for (size_t i = 0; i < n; ++i) {
        const double* from = parts[i] + (i + n - step) % n * piece;
        in_flight[i].assign(from, from + piece);
      }
      for (size_t i = 0; i < n; ++i) {
        double* to = parts[(i + 1) % n] + (i + n - step) % n * piece;
        for (size_t j = 0; j < piece; ++j) to[j] += in_flight[i][j];
        sent += static_cast<double>(piece);
      }
    }
    for (size_t step = 0; gather && step + 1 < n; ++step) {
      for (size_t i = 0; i < n; ++i) {
        const size_t which = (i + 1 + n - step) % n * piece;
        std::copy_n(parts[i] + which, piece, parts[(i + 1) % n] + which);
        sent += static_cast<double>(piece);
      }
    }
    return sent;
  };
  const auto of_domain = [&](size_t domain) {
    std::vector<double*> parts;
    for (size_t i = 0; i < kDomain; ++i) parts.push_back(data[domain * kDomain + i].data());
    return parts;
  };
  for (size_t domain = 0; domain < kDomains; ++domain) {
    inside += ring(of_domain(domain), kElements, true, false);
  }
  for (size_t i = 0; i < kDomain; ++i) {
    // After the ring, accelerator i has the sum of part i + 1.
    std::vector<double*> parts;
    for (size_t domain = 0; domain < kDomains; ++domain) {
      parts.push_back(data[domain * kDomain + i].data() + (i + 1) % kDomain * kPart);
    }
    between += ring(parts, kPart, true, true);
  }
  for (size_t domain = 0; domain < kDomains; ++domain) {
    inside += ring(of_domain(domain), kElements, false, true);
  }
  for (const auto& own : data) EXPECT_EQ(own, sums);
  // At an element a second, and a card an accelerator, these are the seconds.
  EXPECT_NEAR(all_reduce_seconds(Network{kDomain, {0, 1}, kDomain, {0, 1}}, kElements, kRanks),
              inside / kRanks + between / kRanks, 1e-9);
}

TEST(Network, ARingSendsTwiceAllButOneShare) {
  const Link link{1e-3, 1e6};
  EXPECT_EQ(all_reduce_seconds(link, 1e6, 1), 0);
  // 2 x 1/2 MB; 2 messages.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1e6, 2), 1 + 2e-3);
  // 2 x 3/4 MB; a tree of 4 has 2 x 2 messages, a ring 6.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 1e6, 4), 1.5 + 4e-3);
}

TEST(Network, OneTierIsARing) {
  const Link link{1e-3, 1e6};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(flat_network(link), 1e6, 4), 1.5 + 4e-3);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network_of_group(flat_network(link), 2), 1e6, 4),
                   all_reduce_seconds(link, 1e6, 4));
}

TEST(Network, GroupsOfAPipelineShareTheCards) {
  // Four of eight accelerators reduce together, over one of two cards.
  const Network half = network_of_group(two_tiers(), 2);
  EXPECT_EQ(half.domain, 4);
  EXPECT_EQ(half.cards, 1);
  EXPECT_EQ(link_between_neighbours(two_tiers(), 2).bytes_per_second, 3e11);
  // Sixteen stages span two domains.
  const Network spread = network_of_group(two_tiers(), 16);
  EXPECT_EQ(spread.domain, 1);
  EXPECT_EQ(spread.cards, 0.25);
  EXPECT_EQ(link_between_neighbours(two_tiers(), 16).bytes_per_second, 2 * 25e9 / 8);
}

TEST(Network, PresetsAreHalfOfTheVendorsBidirectionalNumbers) {
  const auto preset = [](const std::string& name) {
    return *std::ranges::find(domain_presets(), name, &DomainPreset::name);
  };
  EXPECT_EQ(2 * preset("nvlink-a100").inside.bytes_per_second, 600e9);
  EXPECT_EQ(2 * preset("nvlink-h100").inside.bytes_per_second, 900e9);
  EXPECT_EQ(2 * preset("nvl72").inside.bytes_per_second, 1800e9);
  EXPECT_EQ(preset("nvl72").accelerators, 72);
  // 16 lanes of 16 GT/s, of which 128 in 130 bits are data.
  EXPECT_NEAR(preset("pcie4").inside.bytes_per_second, 16 * 16e9 / 8 * 128 / 130, 0.1e9);
}

}  // namespace
}  // namespace strata::plan
