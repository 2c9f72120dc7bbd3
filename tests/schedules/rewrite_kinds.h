// The rewrites behind RewriteKinds (tests/schedules/rewrite_workload.h) that have files of their
// own.
#pragma once

#include "tests/schedules/rewrite_workload.h"

namespace kindred {

// Arithmetic that changes nothing (rewrite_expressions.cc).
bool AddCast(Disguised& d, Random& random);
bool AddIdentity(Disguised& d, Random& random);
bool UnfoldConstant(Disguised& d, Random& random);
bool RespellAffine(Disguised& d, Random& random);
// Guards that guard nothing.
bool AddPadding(Disguised& d, Random& random);
bool AddDecidedSelect(Disguised& d, Random& random);

// Stages and axes in other pieces (rewrite_stages.cc).
bool SplitStage(Disguised& d, Random& random);
bool InlineStage(Disguised& d, Random& random);
bool DuplicateTemporary(Disguised& d, Random& random);
bool SplitAxis(Disguised& d, Random& random);

}  // namespace kindred
