#include "tuner/import/ops.h"

namespace kindred {

Lowering FindLowering(std::string_view kind) {
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
  const auto found = table.find(kind);
  return found == table.end() ? nullptr : found->second;
}

int RequiredInputs(std::string_view kind) {
  static const std::map<std::string_view, int> table = {{"Add", 2},
                                                        {"Sub", 2},
                                                        {"Mul", 2},
                                                        {"Div", 2},
                                                        {"Mod", 2},
                                                        {"Pow", 2},
                                                        {"Less", 2},
                                                        {"LessOrEqual", 2},
                                                        {"Greater", 2},
                                                        {"GreaterOrEqual", 2},
                                                        {"Equal", 2},
                                                        {"And", 2},
                                                        {"Or", 2},
                                                        {"Xor", 2},
                                                        {"Where", 3},
                                                        {"CastLike", 2},
                                                        {"PRelu", 2},
                                                        {"Conv", 2},
                                                        {"Gemm", 2},
                                                        {"MatMul", 2},
                                                        {"BatchNormalization", 5},
                                                        {"LayerNormalization", 2},
                                                        {"InstanceNormalization", 3},
                                                        {"Expand", 2},
                                                        {"Tile", 2},
                                                        {"Gather", 2},
                                                        {"GatherElements", 2},
                                                        {"GatherND", 2}};
  const auto found = table.find(kind);
  return found == table.end() ? 1 : found->second;
}

}  // namespace kindred
