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
  double bytes_per_second = 0;  // bytes that it sends
};

// Returns the seconds of a ring's all-reduce of `bytes` over `ranks`: 2 (n - 1) / n M / beta + 2 (n
// - 1) alpha, with a tree's latency, 2 log2 n alpha, if that is less.
double all_reduce_seconds(const Link& link, double bytes, int64_t ranks);

struct Network {
  int64_t domain = 1;                                       // accelerators of a domain
  Link inside{0, std::numeric_limits<double>::infinity()};  // an accelerator's link in its domain
  double cards = 1;                                         // network cards of a domain
  Link card;                                                // one card's link to other domains
};

// Returns the network whose ranks are joined by one link each.
Network flat_network(const Link& link);

// Returns the seconds of the hierarchical all-reduce: reduce-scatter in every domain, all-reduce
// between the domains over all cards, all-gather in every domain. The phases follow one another.
// docs/methods/hierarchical_all_reduce.md names the source.
double all_reduce_seconds(const Network& network, double bytes, int64_t ranks);

// Returns the number of domains of so many ranks.
int64_t domains_of(const Network& network, int64_t ranks);

// Returns the network as ranks r, r + P, r + 2 P, ... see it while the other P - 1 such groups
// reduce, too: its domains have fewer ranks, which share the cards.
Network network_of_group(const Network& network, int64_t groups);

// Returns the link between neighbours that are `group` consecutive ranks: `inside`, or the rank's
// share of the cards if the group does not fit in a domain.
Link link_between_neighbours(const Network& network, int64_t group);

// A fast domain with the vendor's data for its links.
struct DomainPreset {
  const char* name;
  const char* hardware;
  int64_t accelerators;
  Link inside;
};
std::span<const DomainPreset> domain_presets();

}  // namespace strata::plan
