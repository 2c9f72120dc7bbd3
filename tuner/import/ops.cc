#include "tuner/import/ops.h"

namespace kindred {

Lowering FindLowering(std::string_view kind) {
  static const LoweringTable table = [] {
    LoweringTable all;
    AddPointwiseOps(all);
    AddMathOps(all);
    AddActivationOps(all);
    AddContractionOps(all);
    AddConvTransposeOps(all);
    AddEinsumOps(all);
    AddPoolingOps(all);
    AddNormalisationOps(all);
    AddReductionOps(all);
    AddMatMulBitsOps(all);
    AddMovementOps(all);
    AddPadOps(all);
    AddRegionOps(all);
    AddResizeOps(all);
    AddGatherOps(all);
    AddIndexOps(all);
    AddSampleOps(all);
    AddScatterOps(all);
    AddSignalOps(all);
    AddViewOps(all);
    AddRotaryOps(all);
    AddQuantizedOps(all);
    return all;
  }();
  const auto found = table.find(kind);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace kindred
