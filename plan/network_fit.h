// Calibrates costs beside the communication on a given network.
#pragma once

#include "plan/search.h"

namespace strata::plan {

// Fits planner.calibration again, with the exposed communication of planner.network as a known part
// of the steps on several domains. between_nodes keeps what the network does not explain, and a
// note says how much. If no costs explain the steps beside the network, a note says so; the other
// costs then stay, and between_nodes becomes zero. Requires planner.network.
void fit_beside_network(Planner& planner);

}  // namespace strata::plan
