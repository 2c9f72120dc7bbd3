// What every workload that was read must hold.
#pragma once

#include "schedules/workload.h"

namespace kindred::fuzz {

// The text form and the JSON form read back to the same workload; the canonical form is valid, a
// fixed point and independent of the form that was read; where the workload is small, it computes
// the same, and the plain loop nest of it is a valid program.
void CheckPromises(const Workload& workload);

}  // namespace kindred::fuzz
