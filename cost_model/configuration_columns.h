// The columns of a ParameterSpace that a Gaussian process learns over.
//
// Each parameter with more than one value: the logarithm of positive numbers, else the number;
// texts and lists are equal or not. Of whole numbers that are not all powers of two also how often
// two divides them (multiples of a warp). Of parameters whose names begin alike (block_size_x,
// block_size_y) also the product. Positions of a column go from 0 to 1.
#pragma once

#include <vector>

#include "cost_model/gaussian_process.h"
#include "schedules/user/parameter_space.h"

namespace kindred {

std::vector<GpColumn> ConfigurationColumns(const ParameterSpace& space);

}  // namespace kindred
