// Activation functions and their derivatives.
#pragma once

#include "device/backend.h"

namespace strata::device::reference {

double activate(Activation activation, double x);
double activation_derivative(Activation activation, double x);

}  // namespace strata::device::reference
