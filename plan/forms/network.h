// A network in two tiers: fast domains of accelerators, joined by network cards.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace strata::plan {

// A link as one sender sees it.
struct Link {
  double latency = 0;           // seconds per message
  double bytes_per_second = 0;  // bytes sent
};

// Returns the seconds of a ring's all-reduce of M bytes over n ranks: 2 (n - 1) / n M / beta plus
// the latency, which is 2 (n - 1) alpha or, if that is less, a tree's 2 log2 n alpha.
double all_reduce_seconds(const Link& link, double bytes, int64_t ranks);

struct Network {
  int64_t domain = 1;                                       // accelerators per domain
  Link inside{0, std::numeric_limits<double>::infinity()};  // an accelerator's link in its domain
  double cards = 1;                                         // network cards per domain
  Link card;                                                // one card's link to other domains
};

// Returns a network without fast domains, in which every rank has one such link.
Network flat_network(const Link& link);

// Returns the seconds of the hierarchical all-reduce: reduce-scatter in every domain, all-reduce
// between the domains over all cards, all-gather in every domain. The phases follow one another.
// docs/methods/hierarchical_all_reduce.md names the source.
double all_reduce_seconds(const Network& network, double bytes, int64_t ranks);

// Returns how many domains so many ranks take.
int64_t domains_of(const Network& network, int64_t ranks);

// Returns the part of the network that one of P `groups` has while all P reduce at once. A group is
// the ranks r, r + P, r + 2 P, ...: 1 / P of every domain's ranks, with that share of its cards.
Network network_of_group(const Network& network, int64_t groups);

// Returns a rank's link to its neighbour, in groups of `group` consecutive ranks: `inside`, or the
// rank's share of the cards if a group can lie in two domains.
Link link_between_neighbours(const Network& network, int64_t group);

// A fast domain: its links' bytes per second by the vendor, their latency by NCCL.
struct DomainPreset {
  const char* name;
  const char* hardware;
  int64_t accelerators;
  Link inside;
};
std::span<const DomainPreset> domain_presets();

}  // namespace strata::plan
