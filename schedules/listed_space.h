// ListedSpace: the part of a space that consists of given paths, e.g. of those that were measured.
//
// Decisions keep their names and order, and offer only the options that a listed path takes;
// lowering is the whole space's. Not thread-safe where the whole space is not.
#pragma once

#include <memory>
#include <span>

#include "schedules/space.h"

namespace kindred {

// `paths` must be complete paths of `whole`; at least one.
std::unique_ptr<Space> MakeListedSpace(std::unique_ptr<Space> whole, std::span<const Path> paths);

}  // namespace kindred
