#include "tuner/import/ops.h"

namespace kindred {

Lowering FindLowering(std::string_view op) {
  static const LoweringTable table = [] {
    LoweringTable all;
    AddPointwiseOps(all);
    AddActivationOps(all);
    AddContractionOps(all);
    AddPoolingOps(all);
    AddNormalisationOps(all);
    AddReductionOps(all);
    AddMovementOps(all);
    AddResizeOps(all);
    AddGatherOps(all);
    AddViewOps(all);
    return all;
  }();
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace kindred
