#include "tuner/version.h"

#include "kindred_version.h"

namespace kindred {

std::string_view Version() { return KINDRED_VERSION; }

}  // namespace kindred
