// Calibrates beside a given network.
#pragma once

#include "plan/search.h"

namespace strata::plan {

// Fits planner.calibration again, with the exposed communication of planner.network as a known part
// of the steps on several domains. between_nodes keeps what the network does not explain. Adds a
// note on that. If no costs explain the steps beside the network, adds a note on the contradiction;
// the costs then stay, and the network takes the place of between_nodes. Requires planner.network.
void fit_beside_network(Planner& planner);

}  // namespace strata::plan
