// Descriptions of kernels: what is read, what follows, and what is said of bad ones.
#include "schedules/user/kernel_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/user/user_kernel.h"

namespace kindred {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A description with its parts replaced by others.
std::string Spec(const std::string& specification = "",
                 const std::string& conditions = R"j(["x % y == 0"])j") {
  const std::string usual = R"json(
    "Language": "CUDA", "KernelName": "scale", "KernelFile": "scale.cu",
    "LocalSize": {"X": "x", "Y": "y", "Z": 1}, "GridDivX": ["x", "w"],
    "ProblemSize": [1000, 30], "SharedMemory": "4 * x * y",
    "Arguments": [
      {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
       "FillType": "Constant", "FillValue": 0.0, "Size": "ProblemSize[0] * ProblemSize[1]"},
      {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly",
       "FillType": "Random", "FillValue": 1.0, "Size": "ProblemSize[0] * (ProblemSize[1] + max(w))"},
      {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "ProblemSize[0]"},
      {"Name": "factor", "Type": "float", "MemoryType": "Scalar", "FillValue": 0.5}])json";
  return R"json({"ConfigurationSpace": {"TuningParameters": [
      {"Name": "x", "Type": "int", "Values": "[32, 64]"},
      {"Name": "y", "Type": "int", "Values": "[1, 2]"},
      {"Name": "w", "Type": "int", "Values": "[1, 3]"}],
    "Conditions": )json" +
         conditions + R"json(}, "KernelSpecification": {)json" +
         (specification.empty() ? usual : specification) + "}}";
}

TEST(KernelSpec, ReadsArgumentsAndSizes) {
  const auto spec = ParseKernelSpec(Spec(), "scale.json");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->language, KernelSpec::Language::kCuda);
  ASSERT_EQ(spec->arguments.size(), 4u);
  EXPECT_EQ(spec->arguments[0].elements, 30000);
  EXPECT_TRUE(spec->arguments[0].written);
  EXPECT_FALSE(spec->arguments[0].read);
  EXPECT_EQ(spec->arguments[1].elements, 33000);
  EXPECT_TRUE(spec->arguments[1].random);
  EXPECT_EQ(spec->arguments[2].value, 1000);
  EXPECT_TRUE(IsKernelSpec(Spec()));
  EXPECT_FALSE(IsKernelSpec(R"({"models": []})"));
}

TEST(KernelSpec, LaunchesFollowTheParameters) {
  const auto spec = ParseKernelSpec(Spec(), "scale.json");
  ASSERT_TRUE(spec);
  const auto space = ParameterSpace::Make(spec->space.parameters, spec->space.conditions);
  ASSERT_TRUE(space);
  const std::uint16_t chosen[] = {1, 1, 1};  // x=64, y=2, w=3
  const auto source = EmitUserKernel(*spec, *space, *space->Find(chosen), "text", "folder");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->language, KernelSource::Language::kCuda);
  ASSERT_EQ(source->steps.size(), 1u);
  const KernelStep& step = source->steps[0];
  EXPECT_EQ(step.entry, "scale");
  EXPECT_THAT(step.block, ElementsAre(64, 2, 1));
  EXPECT_THAT(GridOf(step, {}), ElementsAre(6, 30, 1));  // ceil(1000 / (64 * 3)), undivided
  EXPECT_EQ(step.shared_bytes, 512);
  using Kind = KernelStep::Parameter::Kind;
  ASSERT_EQ(step.parameters.size(), 4u);
  EXPECT_EQ(step.parameters[1].kind, Kind::kArgument);
  EXPECT_EQ(step.parameters[1].value, 1);
  EXPECT_EQ(step.parameters[2].kind, Kind::kConstant);
  EXPECT_EQ(step.parameters[2].value, 1000);
  EXPECT_EQ(step.parameters[3].value, 0x3f000000);  // 0.5f
  EXPECT_EQ(source->code, "#define x 64\n#define y 2\n#define w 3\n#line 1\ntext");
}

TEST(KernelSpec, CFunctionsAreCalledWithScalarsFromMemory) {
  std::string text = Spec();
  text.replace(text.find("CUDA"), 4, "C");
  const auto spec = ParseKernelSpec(text, "scale.json");
  ASSERT_TRUE(spec) << spec.error().message;
  const auto space = ParameterSpace::Make(spec->space.parameters, {});
  const auto source = EmitUserKernel(*spec, *space, 0, "void scale();\n", "folder");
  ASSERT_TRUE(source);
  EXPECT_THAT(source->code,
              AllOf(HasSubstr("static volatile float scalar3 = 0.5;"),
                    HasSubstr("scale((float *)buffers[0], (const float *)buffers[1], scalar2, "
                              "scalar3);")));
  EXPECT_THAT(source->flags, testing::IsSupersetOf({"-Dx=32", "-Dy=1", "-Dw=1"}));
  EXPECT_THAT(source->flags, Not(testing::Contains("-Ifolder")));
  const auto including = EmitUserKernel(*spec, *space, 0, "#include \"a.h\"\n", "folder");
  ASSERT_TRUE(including);
  EXPECT_THAT(including->flags, testing::Contains("-Ifolder"));
}

// What is said of the usual description after a replacement.
std::string Complaint(std::string_view from, std::string_view to) {
  std::string text = Spec();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto spec = ParseKernelSpec(text, "bad.json");
  if (spec) return "(none)";
  EXPECT_EQ(ExitCode(spec.error()), 2);
  EXPECT_THAT(spec.error().message, HasSubstr("bad.json"));
  return spec.error().message;
}

TEST(KernelSpec, BadDescriptionsAreNamed) {
  EXPECT_THAT(Complaint("\"CUDA\"", "\"Fortran\""), HasSubstr("Fortran"));
  EXPECT_THAT(Complaint("\"KernelName\"", "\"Name\""), HasSubstr("KernelName is missing"));
  EXPECT_THAT(Complaint("[1000, 30]", "[0, 30]"), HasSubstr("ProblemSize"));
  EXPECT_THAT(Complaint("\"X\": \"x\"", "\"X\": \"warp\""),
              AllOf(HasSubstr("LocalSize.X"), HasSubstr("warp")));
  EXPECT_THAT(Complaint("max(w)", "w"), HasSubstr("write max(x)"));
  EXPECT_THAT(Complaint("max(w)", "max(w) // 0"), HasSubstr("division by zero"));
  EXPECT_THAT(Complaint("\"WriteOnly\"", "\"ReadOnly\""), HasSubstr("no argument is written"));
  EXPECT_THAT(Complaint("\"int32\"", "\"quaternion\""), HasSubstr("quaternion"));
  EXPECT_THAT(Complaint("\"Random\"", "\"Generator\""), HasSubstr("Generator"));
  EXPECT_THAT(Complaint("\"Vector\"", "\"Tensor\""), HasSubstr("Tensor"));
  EXPECT_THAT(Complaint("\"KernelName\": \"scale\"",
                        R"("Sequence": [{"KernelName": "scale", "Arguments": [1]}])"),
              HasSubstr("Arguments is no list of texts"));
  EXPECT_THAT(Complaint("\"KernelName\": \"scale\"",
                        R"("Sequence": [{"KernelName": "scale", "Arguments": ["in", "away"]}])"),
              HasSubstr("'away'"));
  EXPECT_THAT(Complaint("\"KernelName\": \"scale\"", R"("KernelName": "scale", "Verifier": [""])"),
              HasSubstr("Verifier has no program"));
  EXPECT_THAT(Complaint("\"Name\": \"out\"", R"("Name": "../out")"), HasSubstr("'/'"));
  EXPECT_THAT(Complaint("\"KernelSpecification\"", "\"Kernel\""), HasSubstr("no kernel"));
}

TEST(KernelSpec, ALaunchThatDividesByZeroIsAnError) {
  std::string text = Spec();
  text.replace(text.find("[\"x\", \"w\"]"), 10, "[\"x // (w - 1)\"]");
  const auto spec = ParseKernelSpec(text, "scale.json");
  ASSERT_TRUE(spec);
  const auto space = ParameterSpace::Make(spec->space.parameters, {});
  const auto source = EmitUserKernel(*spec, *space, 0, "", "");
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("division by zero"));
}

TEST(KernelSpec, SequencesInstancesAndReferences) {
  std::string text = Spec();
  const std::string name = R"("KernelName": "scale", )";
  text.replace(text.find(name), name.size(), R"("Sequence": [
      {"KernelName": "first<float, x>", "Arguments": ["in", "out"]},
      {"KernelName": "second", "ProblemSize": [640], "GridDivX": ["x"], "LocalSize": {"X": "x"},
       "SharedMemory": 0}],
    "ReferenceKernel": {"KernelName": "slow", "LocalSize": {"X": 1}, "GridDivX": [100]},
    "Defines": {"TILE": "x * w", "KIND": "'float' if y == 1 else 'double'"},
    "IncludePaths": ["inc", "/abs"], )");
  const auto spec = ParseKernelSpec(text, "scale.json");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "first<float, x>+second");
  const auto space = ParameterSpace::Make(spec->space.parameters, spec->space.conditions);
  const std::uint16_t chosen[] = {1, 1, 1};  // x=64, y=2, w=3
  const auto source = EmitUserKernel(*spec, *space, *space->Find(chosen), "text", "/folder");
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_EQ(source->steps.size(), 2u);
  EXPECT_EQ(source->steps[0].entry, "first<float, 64>");
  EXPECT_EQ(source->steps[0].parameters.size(), 2u);
  EXPECT_EQ(source->steps[0].parameters[0].value, 1);
  EXPECT_THAT(GridOf(source->steps[1], {}), ElementsAre(10, 1, 1));
  EXPECT_EQ(source->steps[1].parameters.size(), 4u);
  EXPECT_THAT(source->code, HasSubstr("#define TILE 192\n#define KIND double\n"));
  EXPECT_THAT(source->flags, testing::IsSupersetOf({"-I/folder/inc", "-I/abs"}));
  const auto reference = EmitUserReference(*spec, *space, "text", "/folder");
  ASSERT_TRUE(reference) << reference.error().message;
  ASSERT_EQ(reference->steps.size(), 1u);
  EXPECT_EQ(reference->steps[0].entry, "slow");
  EXPECT_THAT(GridOf(reference->steps[0], {}), ElementsAre(10, 30, 1));
}

TEST(KernelSpec, CommandsHaveValuesInTheirWords) {
  const auto spec = ParseKernelSpec(
      Spec(R"json("Objective": "command", "Command": ["run", "--x={x * w}", "{{{y}}}"],
           "Environment": {"N": "{ProblemSize[0]}"}, "ProblemSize": [7], "Direction": "maximize",
           "Unit": "GB/s", "Timeout": 3)json"),
      "run.json");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_TRUE(spec->command.maximise);
  EXPECT_EQ(spec->command.unit, "GB/s");
  const auto space = ParameterSpace::Make(spec->space.parameters, {});
  const std::uint16_t chosen[] = {1, 0, 1};  // x=64, y=1, w=3
  const auto source = EmitUserKernel(*spec, *space, *space->Find(chosen), "", "");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->compiler, "command");
  EXPECT_THAT(source->code,
              AllOf(HasSubstr("\"--x=192\""), HasSubstr("\"{1}\""), HasSubstr("\"N\": \"7\""),
                    HasSubstr("\"KINDRED_PARAMETER_w\": \"3\"")));
}

}  // namespace
}  // namespace kindred
