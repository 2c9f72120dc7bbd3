// The harness of the differential tests must find what it is there to find.
#include "tests/schedules/compile_and_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/text_form.h"

namespace kindred::test {
namespace {

ExprPtr Load(int buffer, ExprPtr index) {
  return LoadExpr(buffer, {std::move(index)}, DataType::kF32);
}

// Y[i] = X[i] over 40 elements, with the given index of the load and of the store, and a value
// added.
std::string Complaint(std::int64_t read_offset, std::int64_t write_offset, double added,
                      int output = 1) {
  const auto w = ParseWorkload("input X: f32[40]\noutput Y[i] = X[i]\n", "copy");
  if (!w) return "workload";
  Program p;
  p.name = "copy";
  const int x = p.AddBuffer({"X", DataType::kF32, 40, Scope::kArgument, 0, ""});
  const int y = p.AddBuffer({"Y", DataType::kF32, 40, Scope::kArgument, output, ""});
  const int i = p.AddVar("i");
  p.body = For(i, IntExpr(40), LoopKind::kSerial,
               Store(y, VarExpr(i) + write_offset,
                     Load(x, VarExpr(i) + read_offset) + FloatExpr(added, DataType::kF32)));
  KernelBatch batch(TestTarget());
  const auto added_kernel = batch.Add(*w, p, "copy");
  if (!added_kernel) return added_kernel.error().message;
  const auto built = batch.Build();
  if (!built) return built.error().message;
  return CompareWithInterpreter(batch, 0, *w, 3);
}

TEST(KernelBatch, FindsWrongValuesAndEveryTouchedNeighbour) {
  EXPECT_EQ(Complaint(0, 0, 0), "");
  EXPECT_THAT(Complaint(0, 0, 1), testing::HasSubstr("Y[0] is"));
  EXPECT_THAT(Complaint(1, 0, 0), testing::HasSubstr("fault"));
  EXPECT_THAT(Complaint(-1, 0, 0), testing::HasSubstr("fault"));
  EXPECT_THAT(Complaint(0, 1, 0), testing::HasSubstr("fault"));
  EXPECT_THAT(Complaint(0, -1, 0), testing::HasSubstr("fault"));
  EXPECT_THAT(Complaint(0, 0, 1, 0), testing::HasSubstr("wrote to input X"));
}

}  // namespace
}  // namespace kindred::test
