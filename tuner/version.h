// Which Kindred this is: "0.1.0+1a2b3c4d5e" in a git checkout, "0.1.0" elsewhere.
#pragma once

#include <string_view>

namespace kindred {

std::string_view Version();

}  // namespace kindred
