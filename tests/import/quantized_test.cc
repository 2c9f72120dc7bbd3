// Quantised models: contractions of dequantised operands become contractions of integers, with the
// same results.
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "schedules/text_form.h"
#include "tests/import/run_model.h"
#include "tests/import/text_model.h"

namespace kindred {
namespace {

using testing::HasSubstr;
using testing::Not;
using Numbers = std::vector<std::int64_t>;

std::int64_t Count(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// The same numbers for the same seed, in [low, high].
Numbers Random(std::int64_t count, std::int64_t low, std::int64_t high, unsigned seed) {
  Numbers numbers;
  for (std::uint64_t state = seed * 7919U + 1; count > 0; --count) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    numbers.push_back(low + static_cast<std::int64_t>((state >> 33) %
                                                      static_cast<std::uint64_t>(high - low + 1)));
  }
  return numbers;
}

Numbers RandomOf(const std::string& type, std::int64_t count, unsigned seed) {
  return type == "uint8" ? Random(count, 0, 255, seed) : Random(count, -128, 127, seed);
}

// An operand of a contraction: integers, and what they stand for.
struct Operand {
  std::string name, type;
  Numbers shape;
  bool given = false;           // an input of the model, else an initializer
  std::int64_t axis = -1;       // of the scales; -1: one
  std::int64_t zero_point = 0;  // of channel c: zero_point + c, unless 0
  Numbers integers;

  std::int64_t channels() const { return axis < 0 ? 1 : shape[static_cast<std::size_t>(axis)]; }
  std::int64_t ZeroPoint(std::int64_t channel) const {
    return zero_point == 0 ? 0 : zero_point + channel;
  }
  static double Scale(std::int64_t channel) { return 0.25 + 0.125 * static_cast<double>(channel); }

  std::vector<double> Real() const {
    std::vector<double> real;
    const std::int64_t inner =
        axis < 0 ? Count(shape) : Count(Numbers(shape.begin() + axis + 1, shape.end()));
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const std::int64_t channel = static_cast<std::int64_t>(i) / inner % channels();
      real.push_back(static_cast<double>(integers[i] - ZeroPoint(channel)) * Scale(channel));
    }
    return real;
  }
  // Declarations of the integers, the scales and the zero points as initializers.
  std::string Initializers() const {
    std::vector<double> scales;
    Numbers points;
    for (std::int64_t c = 0; c < channels(); ++c) {
      scales.push_back(Scale(c));
      points.push_back(ZeroPoint(c));
    }
    std::string text =
        fmt::format("float[{}] {}_s = {{{}}}, {}[{}] {}_z = {{{}}}", channels(), name,
                    fmt::join(scales, ","), type, channels(), name, fmt::join(points, ","));
    if (!given)
      text += fmt::format(", {}[{}] {} = {{{}}}", type, fmt::join(shape, ","), name,
                          fmt::join(integers, ","));
    return text;
  }
  std::string Dequantized() const {
    return fmt::format("{0}_f = DequantizeLinear <axis = {1}> ({0}, {0}_s, {0}_z)", name,
                       std::max<std::int64_t>(axis, 0));
  }
};

Operand MakeOperand(std::string name, std::string type, Numbers shape, bool given,
                    std::int64_t axis, std::int64_t zero_point, unsigned seed) {
  Operand operand{std::move(name), std::move(type), std::move(shape), given, axis, zero_point, {}};
  operand.integers = RandomOf(operand.type, Count(operand.shape), seed);
  return operand;
}

std::string TextsOf(const ImportedModel& model) {
  std::string text;
  for (const ImportedTask& task : model.tasks) text += PrintWorkload(task.workload) + "\n";
  return text;
}

// y = `node` of a_f and b_f, from integers and from the floats that they stand for.
void ExpectSame(const Operand& a, const Operand& b, const std::string& node,
                const Numbers& result) {
  const std::string what = fmt::format("{} of {} {} and {} {}, zero points {} and {}", node, a.type,
                                       a.shape, b.type, b.shape, a.zero_point, b.zero_point);
  std::string inputs, floats;
  NamedValues integers, reals;
  for (const Operand* operand : {&a, &b}) {
    if (operand->given) {
      inputs += fmt::format("{}{}[{}] {}", inputs.empty() ? "" : ", ", operand->type,
                            fmt::join(operand->shape, ","), operand->name);
      integers[operand->name].integers = operand->integers;
    }
    floats += fmt::format("{}float[{}] {}_f", floats.empty() ? "" : ", ",
                          fmt::join(operand->shape, ","), operand->name);
    reals[operand->name + "_f"].floats = operand->Real();
  }
  const std::string output = fmt::format("float[{}] y", fmt::join(result, ","));
  const std::string quantized =
      fmt::format("g ({}) => ({}) <{}, {}> {{ {} {} {} }}", inputs, output, a.Initializers(),
                  b.Initializers(), a.Dequantized(), b.Dequantized(), node);
  const std::string plain = fmt::format("g ({}) => ({}) {{ {} }}", floats, output, node);
  const auto run = [&](const std::string& graph, const NamedValues& values) {
    const std::string path = WriteFile("quantized.onnx", ModelBytes(graph));
    const auto model = ImportOnnx(path, {});
    EXPECT_TRUE(model) << what << ": " << model.error().message;
    if (!model) return TensorValues();
    EXPECT_EQ(model->tasks.size(), 1u) << what << "\n" << TextsOf(*model);
    if (&values == &integers)
      for (const Stage& stage : model->tasks[0].workload.stages)
        if (stage.reduction() > 0) {
          EXPECT_EQ(stage.accumulator, DataType::kI32) << what;
        }
    const auto outputs = RunImported(path, *model, values);
    EXPECT_TRUE(outputs) << what << ": " << outputs.error().message;
    return outputs ? outputs->at("y") : TensorValues();
  };
  const TensorValues got = run(quantized, integers), expected = run(plain, reals);
  ASSERT_EQ(got.floats.size(), expected.floats.size()) << what;
  for (std::size_t i = 0; i < got.floats.size(); ++i)
    ASSERT_NEAR(got.floats[i], expected.floats[i], 1e-5 * (1 + std::fabs(expected.floats[i])))
        << what << ", element " << i;
}

TEST(QuantizedConv, IsThatOfTheFloats) {
  unsigned seed = 0;
  for (const char* x_type : {"uint8", "int8"})
    for (const std::int64_t x_zero : {0, 9, 101})
      for (const char* w_type : {"int8", "uint8"})
        for (const std::int64_t w_zero : {0, 5})
          for (const std::int64_t axis : {-1, 0})
            for (const std::int64_t group : {1, 2, 4}) {
              const Operand x = MakeOperand("x", x_type, {1, 4, 5, 4}, true, -1, x_zero, ++seed);
              const Operand w =
                  MakeOperand("w", w_type, {4, 4 / group, 3, 2}, false, axis, w_zero, ++seed);
              ExpectSame(
                  x, w, fmt::format("y = Conv <group = {}, pads = [1, 0, 1, 1]> (x_f, w_f)", group),
                  {1, 4, 5, 4});
            }
}

TEST(QuantizedConv, WeightAroundTheMiddleStaysABytePerElement) {
  const Operand w = MakeOperand("w", "uint8", {4, 2, 3, 3}, false, -1, 128, 3);
  const auto model = ImportText(
      fmt::format("g (uint8[1,2,5,5] x) => (float[1,4,3,3] y) <float[1] s = {{0.5}}, {}> "
                  "{{ x_f = DequantizeLinear(x, s) {} y = Conv(x_f, w_f) }}",
                  w.Initializers(), w.Dequantized()));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(TextsOf(*model), HasSubstr("weight W: i8[4,2,3,3]"));
}

TEST(QuantizedMatMul, IsThatOfTheFloats) {
  unsigned seed = 100;
  for (const bool weight : {true, false})
    for (const char* b_type : {"int8", "uint8"})
      for (const std::int64_t a_zero : {0, 101})
        for (const std::int64_t b_zero : {0, 5})
          for (const std::int64_t axis : {-1, 1}) {
            const Operand a = MakeOperand("a", "uint8", {3, 7}, true, -1, a_zero, ++seed);
            const Operand b = MakeOperand("b", b_type, {7, 5}, !weight, axis, b_zero, ++seed);
            ExpectSame(a, b, "y = MatMul(a_f, b_f)", {3, 5});
            // The weight on the left, scales along its rows.
            const Operand left =
                MakeOperand("a", b_type, {7, 5}, !weight, axis < 0 ? -1 : 0, b_zero, ++seed);
            const Operand right = MakeOperand("b", "uint8", {2, 5, 3}, true, -1, a_zero, ++seed);
            ExpectSame(left, right, "y = MatMul(a_f, b_f)", {2, 7, 3});
          }
}

TEST(QuantizedGemm, IsThatOfTheFloats) {
  unsigned seed = 200;
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true})
      for (const std::int64_t b_zero : {0, 5}) {
        const Operand a =
            MakeOperand("a", "int8", turn_a ? Numbers{7, 3} : Numbers{3, 7}, true, -1, 4, ++seed);
        const Operand b = MakeOperand("b", "int8", turn_b ? Numbers{5, 7} : Numbers{7, 5}, false,
                                      turn_b ? 0 : 1, b_zero, ++seed);
        ExpectSame(a, b,
                   fmt::format("y = Gemm <transA = {}, transB = {}, alpha = 0.5> (a_f, b_f)",
                               turn_a ? 1 : 0, turn_b ? 1 : 0),
                   {3, 5});
      }
}

// Sums that an i32 may not hold stay sums of floats.
TEST(QuantizedMatMul, LongSumsAreOfFloats) {
  const auto text = [](const char* type, int depth) {
    const auto model = ImportText(fmt::format(
        "g ({0}[2,{1}] a, {0}[{1},2] b) => (float[2,2] y) <float[1] s = {{0.5}}> "
        "{{ af = DequantizeLinear(a, s) bf = DequantizeLinear(b, s) y = MatMul(af, bf) }}",
        type, depth));
    EXPECT_TRUE(model) << model.error().message;
    return model ? TextsOf(*model) : "";
  };
  EXPECT_THAT(text("uint8", 33025), HasSubstr("i32("));
  EXPECT_THAT(text("uint8", 33027), Not(HasSubstr("i32(")));
  EXPECT_THAT(text("int8", 33027), HasSubstr("i32("));
}

constexpr const char* kParameters =
    "float[1] s = {0.5}, uint8[1] z = {7}, int8[4,4] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, "
    "float[1] t = {0.25}";

TEST(QuantizedMoves, MoveIntegers) {
  const auto model = ImportText(
      fmt::format("g (uint8[1,2,4,4] x) => (uint8[8,1] y) <{}, int64[2] to = {{2,-1}}> "
                  "{{ a = DequantizeLinear(x, s, z) b = MaxPool <kernel_shape = [2,2], strides = "
                  "[2,2]> (a) c = Transpose <perm = [0,2,3,1]> (b) d = Flatten <axis = 3> (c) "
                  "e = Transpose(d) f = Reshape(e, to) "
                  "h = QuantizeLinear(f, s, z) y = Flatten <axis = 2> (h) }}",
                  kParameters));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(TextsOf(*model), Not(HasSubstr("f32")));
  EXPECT_EQ(model->tunable, model->nodes);
}

TEST(QuantizedMoves, ScalesOfATransposedWeightFollow) {
  const auto model =
      ImportText(fmt::format("g (uint8[3,4] x) => (float[3,4] y) <{}, float[4] r = {{1,2,3,4}}> "
                             "{{ a = DequantizeLinear(x, s, z) v = DequantizeLinear <axis = 0> (w, "
                             "r) u = Transpose(v) y = MatMul(a, u) }}",
                             kParameters));
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->tasks.size(), 1u);
  EXPECT_THAT(TextsOf(*model), HasSubstr("i32("));
}

TEST(QuantizedReads, AreOfTheIntegersInEveryReader) {
  const auto model =
      ImportText(fmt::format("g (uint8[4,4] x) => (float[4,4] y, float[4,4] v, float[4,4] u) <{}> "
                             "{{ a = DequantizeLinear(x, s, z) y = Tanh(a) v = Softmax(a) "
                             "b = DequantizeLinear(w, t) u = MatMul(a, b) }}",
                             kParameters));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->nodes, 3);
  for (const ImportedTask& task : model->tasks)
    EXPECT_THAT(PrintWorkload(task.workload), HasSubstr("input X: u8[4,4]"));
}

// Neither scales and zero points nor the weights' integers stand in the workloads.
TEST(QuantizedKeys, DoNotDependOnNumbers) {
  const auto keys = [](const std::string& parameters) {
    const auto model = ImportText(fmt::format(
        "g (uint8[4,4] x) => (uint8[4,4] y) <{}, int32[4] b = {{3,3,3,3}}> "
        "{{ a = DequantizeLinear(x, s, z) v = DequantizeLinear(w, t) c = DequantizeLinear(b, t) "
        "m = Gemm(a, v, c) y = QuantizeLinear(m, s, z) }}",
        parameters));
    EXPECT_TRUE(model) << model.error().message;
    std::vector<std::string> all;
    if (model)
      for (const ImportedTask& task : model->tasks) all.push_back(task.canonical.key.Hex());
    return all;
  };
  const auto one = keys(kParameters);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one, keys("float[1] s = {0.75}, uint8[1] z = {9}, int8[4,4] w = "
                      "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[1] t = {0.125}"));
  // A zero point of 0 is another computation.
  EXPECT_NE(one, keys("float[1] s = {0.75}, uint8[1] z = {0}, int8[4,4] w = "
                      "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[1] t = {0.125}"));
}

// There and back through a type of 8-bit floats.
std::vector<double> ThroughFloat8(int type, bool saturates, const std::vector<double>& x) {
  onnx::ModelProto proto;
  const auto count = x.size();
  EXPECT_TRUE(proto.ParseFromString(ModelBytes(
      fmt::format("g (float[{0}] x) => (float[{0}] y) <float[1] s = {{2}}, uint8[1] z = {{0}}> "
                  "{{ q = QuantizeLinear <saturate = {1}> (x, s, z) h = Identity(q) "
                  "y = DequantizeLinear(h, s, z) }}",
                  count, saturates ? 1 : 0),
      19)));
  proto.mutable_graph()->mutable_initializer(1)->set_data_type(type);
  const std::string path = WriteFile("float8.onnx", proto.SerializeAsString());
  const auto model = ImportOnnx(path, {});
  EXPECT_TRUE(model) << model.error().message;
  NamedValues inputs;
  inputs["x"].floats = x;
  if (!model) return {};
  const auto outputs = RunImported(path, *model, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->at("y").floats : std::vector<double>();
}

TEST(Quantized, EightBitFloats) {
  constexpr int kE4M3 = 17, kE5M2 = 19;
  EXPECT_THAT(ThroughFloat8(kE4M3, true, {0.6, 34, -2000, 1e9}),
              testing::ElementsAre(0.625, 32, -896, 896));
  EXPECT_THAT(ThroughFloat8(kE5M2, true, {0.6, 36, -2000, 1e9}),
              testing::ElementsAre(0.625, 32, -2048, 114688));
  const auto over = ThroughFloat8(kE5M2, false, {1e9, 1});
  EXPECT_THAT(over, testing::ElementsAre(std::numeric_limits<double>::infinity(), 1));
  EXPECT_TRUE(std::isnan(ThroughFloat8(kE4M3, false, {1e9}).at(0)));
}

TEST(Quantized, OtherTypesAreLeftOut) {
  const auto model = ImportText(
      "g (float[4] x) => (uint16[4] y) <float[1] s = {0.5}, uint16[1] z = {7}> "
      "{ y = com.microsoft.QuantizeLinear(x, s, z) }");
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->left_out.size(), 1u);
  EXPECT_THAT(model->left_out[0].reason, HasSubstr("uint16"));
}

}  // namespace
}  // namespace kindred
