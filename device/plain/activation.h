// Activation functions and their derivatives.
#pragma once

#include "device/operations/operations.h"

namespace strata::device::plain {

double activate(Activation activation, double x);
double activation_derivative(Activation activation, double x);

}  // namespace strata::device::plain
