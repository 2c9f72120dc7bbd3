// Trends: times of configurations on other devices, as ConfigurationModel follows them.
#pragma once

#include <cstddef>
#include <vector>

#include "schedules/user/parameter_space.h"

namespace kindred::internal {

// log2(time) by device and configuration, each device's less its mean, which also stands for what
// is not known (NaN). Devices whose times are noise (IsNoise) are left out.
std::vector<std::vector<float>> MakeTrends(const ParameterSpace& space,
                                           const std::vector<std::vector<double>>& elsewhere);

// The configurations that are fastest, best first: by the mean of all trends, then by each.
std::vector<std::size_t> MostPromising(const std::vector<std::vector<float>>& trends);

// Whether times have nothing to do with the parameters: the order of configurations says nothing of
// the order of those that differ from them in one parameter. Of a few times nobody can tell; they
// are not called noise.
bool IsNoise(const ParameterSpace& space, const std::vector<double>& times);

}  // namespace kindred::internal
