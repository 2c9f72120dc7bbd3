// Emission of C: the math functions' accuracy, rounding of narrow types, and single constructs of
// programs.
#include "schedules/emit_c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "schedules/lower_naive.h"
#include "schedules/text_form.h"
#include "tests/schedules/compile_and_run.h"

namespace kindred {
namespace {

using test::Bytes;

Workload Parse(const std::string& text) {
  auto workload = ParseWorkload(text, "test");
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().message);
  return workload ? *workload : Workload{};
}

template <typename T>
Bytes ToBytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> FromBytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

double Ulps(float got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  const auto rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return 1e9;
  const float magnitude = std::fabs(rounded);
  const double step =
      static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) -
      static_cast<double>(magnitude);
  return std::fabs(static_cast<double>(got) - want) / step;
}

// Vectors of each width, and the scalar code, on the same numbers.
TEST(EmitC, MathFunctionsAreAccurate) {
  struct Function {
    const char* name;
    double (*exact)(double);
    double low, high;
  };
  const Function functions[] = {
      {"exp", std::exp, -104, 89}, {"log", std::log, 0, 20},         {"tanh", std::tanh, -10, 10},
      {"erf", std::erf, -5, 5},    {"sin", std::sin, -50, 50},       {"cos", std::cos, -50, 50},
      {"tan", std::tan, -10, 10},  {"sqrt", std::sqrt, 0, 9},        {"floor", std::floor, -9, 9},
      {"ceil", std::ceil, -9, 9},  {"round", std::nearbyint, -9, 9}, {"abs", std::fabs, -9, 9},
  };
  constexpr int kCount = 8191;  // no multiple of any vector: tails run scalar code
  std::vector<std::vector<float>> inputs;
  test::KernelBatch batch(test::TestTarget(64), "-O2"), narrow(test::TestTarget(32), "-O2");
  for (const Function& f : functions) {
    std::vector<float> x;
    for (int i = 0; i < kCount; ++i)
      x.push_back(static_cast<float>(f.low + (f.high - f.low) * i / kCount));
    const float infinity = std::numeric_limits<float>::infinity();
    int at = 100;
    for (const float special :
         {0.f, -0.f, infinity, -infinity, std::nanf(""), 1e-40f, 1e-45f, 1.f, 88.8f, -103.9f})
      x[static_cast<std::size_t>(at++)] = special;
    inputs.push_back(std::move(x));
    const Workload w =
        Parse("input X: f32[8191]\noutput Y[i] = " + std::string(f.name) + "(X[i])\n");
    for (test::KernelBatch* b : {&batch, &narrow}) {
      const auto space = MakeSpace(w, b == &batch ? test::TestTarget(64) : test::TestTarget(32));
      const auto path = PathFromJson(*space, R"({"sketch": "elementwise", "vectors": 2})");
      ASSERT_TRUE(path) << path.error().message;
      const auto candidate = space->Lower(*path);
      ASSERT_TRUE(candidate) << candidate.error().message;
      ASSERT_TRUE(b->Add(w, *candidate->program, f.name));
    }
  }
  for (test::KernelBatch* b : {&batch, &narrow}) {
    const auto built = b->Build();
    ASSERT_TRUE(built) << built.error().message;
    for (int k = 0; k < b->size(); ++k) {
      const auto& x = inputs[static_cast<std::size_t>(k)];
      const auto outputs = b->Run(k, {ToBytes(x)});
      ASSERT_TRUE(outputs) << b->Label(k) << ": " << outputs.error().message;
      const auto y = FromBytes<float>(outputs->at(0));
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::string name = b->Label(k);
        if ((name == "sin" || name == "cos" || name == "tan") && !std::isfinite(x[i])) continue;
        const double ulps = Ulps(y[i], functions[k].exact(x[i]));
        if (ulps > worst) worst = ulps, where = x[i];
      }
      EXPECT_LE(worst, 4) << b->Label(k) << " at " << where;
    }
  }
}

TEST(EmitC, NarrowFloatsRoundToNearestEven) {
  const Workload w =
      Parse("input X: f32[600]\noutput B: bf16[i] = X[i]\noutput H: f16[i] = X[i]\n");
  std::vector<float> x;
  for (int i = 0; i < 600; ++i) {
    const auto bits = static_cast<std::uint32_t>(0x3f7f0000 + i * 0x800 - (i % 3));
    float value;
    std::memcpy(&value, &bits, 4);
    x.push_back(i % 2 ? value : -value);
  }
  x[5] = std::numeric_limits<float>::infinity();
  x[6] = 3.4e38f;
  x[7] = 1e-7f;
  test::KernelBatch batch(test::TestTarget());
  const auto space = MakeSpace(w, test::TestTarget());
  for (const char* vectors : {"0", "1"}) {
    const auto path = PathFromJson(
        *space, std::string(R"({"sketch": "elementwise", "vectors": )") + vectors + "}");
    ASSERT_TRUE(path) << path.error().message;
    ASSERT_TRUE(batch.Add(w, *space->Lower(*path)->program, vectors));
  }
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message;
  for (int k = 0; k < batch.size(); ++k) {
    const auto outputs = batch.Run(k, {ToBytes(x)});
    ASSERT_TRUE(outputs) << outputs.error().message;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(LoadFloat(DataType::kBF16, outputs->at(0).data() + 2 * i),
                RoundTo(DataType::kBF16, static_cast<double>(x[i])))
          << x[i];
      EXPECT_EQ(LoadFloat(DataType::kF16, outputs->at(1).data() + 2 * i),
                RoundTo(DataType::kF16, static_cast<double>(x[i])))
          << x[i];
    }
  }
}

// A program written by hand: lets, conditions, unrolled and vectorized loops, registers, prepared
// weights.
TEST(EmitC, ConstructsOfPrograms) {
  const Workload w = Parse(
      "input X: f32[40]\nweight W: f32[16]\noutput Y[i] = X[i] + W[i%16]\noutput S[] = "
      "sum[k](X[k])\n");
  Program p;
  p.name = "constructs";
  const int x = p.AddBuffer({"int", DataType::kF32, 40, Scope::kArgument, 0, ""});
  const int weight = p.AddBuffer({"W", DataType::kF32, 16, Scope::kArgument, 1, ""});
  const int y = p.AddBuffer({"Y", DataType::kF32, 40, Scope::kArgument, 2, ""});
  const int s = p.AddBuffer({"S", DataType::kF32, 1, Scope::kArgument, 3, ""});
  const int packed = p.AddBuffer({"W", DataType::kF32, 16, Scope::kPrepared, -1, "W[16]"});
  const int acc = p.AddBuffer({"acc", DataType::kF32, 8, Scope::kRegister, -1, ""});
  const int total = p.AddBuffer({"total", DataType::kF32, 1, Scope::kRegister, -1, ""});
  const int scratch = p.AddBuffer({"scratch", DataType::kF32, 40, Scope::kStack, -1, ""});
  const auto load = [](int b, ExprPtr i) { return LoadExpr(b, {std::move(i)}, DataType::kF32); };
  const int i = p.AddVar("for"), t = p.AddVar("t0"), v = p.AddVar("v"), l = p.AddVar("l"),
            f = p.AddVar("f", DataType::kF32), u = p.AddVar("u");
  p.prepare =
      For(i, IntExpr(16), LoopKind::kSerial, Store(packed, VarExpr(i), load(weight, VarExpr(i))));
  const ExprPtr zero = IntExpr(0);
  p.body = Block(
      {For(v, IntExpr(8), LoopKind::kVectorized,
           Store(acc, VarExpr(v), FloatExpr(0, DataType::kF32))),
       For(u, IntExpr(5), LoopKind::kUnrolled,
           Block({Let(t, VarExpr(u) * 8),
                  For(v, IntExpr(8), LoopKind::kVectorized,
                      Block({Store(scratch, VarExpr(t) + VarExpr(v),
                                   load(x, VarExpr(t) + VarExpr(v))),
                             Store(acc, VarExpr(v),
                                   load(acc, VarExpr(v)) +
                                       load(scratch, VarExpr(t) + VarExpr(v)))}))})),
       Store(total, zero, FloatExpr(0, DataType::kF32)),
       For(l, IntExpr(8), LoopKind::kUnrolled,
           Store(total, zero, load(total, zero) + load(acc, VarExpr(l)))),
       Store(s, zero, load(total, zero)),
       For(i, IntExpr(40), LoopKind::kSerial,
           Block({Let(t, VarExpr(i) % IntExpr(16)), Let(f, load(packed, VarExpr(t))),
                  Comment("either way"),
                  If(BinaryExpr(Op::kLess, VarExpr(i), IntExpr(20)),
                     Store(y, VarExpr(i), load(scratch, VarExpr(i)) + load(packed, VarExpr(t))),
                     Store(y, VarExpr(i), load(x, VarExpr(i)) + load(packed, VarExpr(t))))}))});
  test::KernelBatch batch(test::TestTarget(32));
  const auto added = batch.Add(w, p, "constructs");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_THAT(batch.Source(0).code, testing::HasSubstr("kd_reduce_add_f32x8(acc_0)"));
  const auto built = batch.Build();
  ASSERT_TRUE(built) << built.error().message << batch.Source(0).code;
  EXPECT_EQ(test::CompareWithInterpreter(batch, 0, w, 5), "");
}

TEST(EmitC, FlagsKeepTheContract) {
  const std::string base = "input X: f32[8,9]\noutput Y[i,j] = X[i,j] / sum[k](abs(X[i,k]))\n";
  const auto flags = [&](const std::string& allowed) {
    const Workload w = Parse(allowed + base);
    Program program = LowerNaive(w);
    program.plain = false;
    return EmitC(program, w, Target{}).flags;
  };
  const std::vector<std::string> strict = flags("");
  for (const std::string& flag : strict)
    EXPECT_THAT((std::vector<std::string>{"-Ofast", "-ffast-math", "-ffinite-math-only",
                                          "-funsafe-math-optimizations", "-fassociative-math",
                                          "-freciprocal-math", "-fno-signed-zeros"}),
                testing::Not(testing::Contains(flag)));
  EXPECT_EQ(flags("allow tf32, winograd, atomics\n"), strict);
  std::vector<std::string> fast = strict;
  fast.insert(fast.end(), {"-freciprocal-math", "-fno-signed-zeros"});
  EXPECT_THAT(flags("allow fast_math\n"), testing::UnorderedElementsAreArray(fast));
}

TEST(EmitC, SameProgramSameText) {
  const Workload w = Parse("input X: f32[5,40]\noutput Y[i] = sum[k](X[i,k])\n");
  const auto space = MakeSpace(w, test::TestTarget());
  for (const Path& path : test::RandomPaths(*space, 5, 1)) {
    const auto a = space->Lower(path), b = space->Lower(path);
    ASSERT_TRUE(a);
    EXPECT_EQ(a->key, b->key);
    EXPECT_EQ(EmitC(*a->program, w, test::TestTarget()).code,
              EmitC(*b->program, w, test::TestTarget()).code);
  }
}

TEST(EmitC, NamesTheDecisionsAndTheWorkloadInItsHead) {
  const Workload w = Parse("input X: f32[5,40]\noutput Y[i] = sum[k](X[i,k])\n");
  const auto space = MakeSpace(w, test::TestTarget());
  const auto candidate = space->Lower(test::RandomPaths(*space, 1, 1)[0]);
  ASSERT_TRUE(candidate);
  const KernelSource source = EmitC(*candidate->program, w, test::TestTarget());
  EXPECT_THAT(source.code, testing::HasSubstr("//   output Y[i] = sum[k](X[i,k])"));
  EXPECT_THAT(source.code, testing::HasSubstr("//   sketch: generic"));
  EXPECT_THAT(source.flags, testing::Contains("-march=native"));
  EXPECT_EQ(source.arguments.size(), 2u);
}

}  // namespace
}  // namespace kindred
