// Statements in which threads of a block work together: combinations over a warp, asynchronous
// copies into shared memory.
#include <fmt/format.h>

#include "schedules/internal/cuda_expr.h"
#include "schedules/internal/cuda_stmt.h"

namespace kindred::internal {

void CudaStatementPrinter::Copy(const Stmt& s) {
  CudaExprPrinter printer(context_);
  const auto start = [&](int buffer, const ExprPtr& index) {
    return fmt::format("{} + {}", context_.buffer_names[static_cast<std::size_t>(buffer)],
                       printer.PrintIndex(Known(index)).text);
  };
  const int bytes = s.width * ByteSize(context_.BufferAt(s.buffer).type);
  std::string zeros;
  if (s.extent) {
    const ExprPtr condition = Known(s.extent);
    const auto decided = Decide(*condition, context_.Ranges());
    if (!decided)
      zeros = fmt::format(", {} ? {} : 0", Wrap(printer.Print(condition), kConditional + 1), bytes);
    else if (!*decided)
      zeros = ", 0";
  }
  context_.Line(fmt::format("kd_cp_async<{}>({}, {}{});", bytes, start(s.buffer, s.index),
                            start(s.value->index, s.value->args[0]), zeros));
}

void CudaStatementPrinter::Combine(const Stmt& s) {
  const ExprPtr index = Known(s.index);
  CudaExprPrinter printer(context_);
  const DataType type = context_.BufferAt(s.buffer).type;
  const std::string value = printer.Element(s.buffer, index);
  const std::string_view compute = CudaComputeType(type);
  const std::string distance = TakeName(context_.taken_names, "distance"),
                    other = TakeName(context_.taken_names, "other"),
                    there = TakeName(context_.taken_names, "there");
  context_.Line("#pragma unroll");
  context_.Line(fmt::format("for (int {0} = {1}; {0} > 0; {0} /= 2) {{", distance, s.width / 2));
  ++context_.indent;
  const auto exchange = [&](std::string_view type_name, const std::string& into,
                            const std::string& from) {
    context_.Line(fmt::format("const {} {} = kd_shfl_xor(0xffffffffu, {}, {});", type_name, into,
                              from, distance));
  };
  exchange(compute, other, value);
  if (s.position >= 0) {
    const std::string place = printer.Element(s.position, index);
    exchange(CudaComputeType(context_.BufferAt(s.position).type), there, place);
    context_.Line(fmt::format("if ({3} {0} {1} || ({3} == {1} && {4} < {2})) {1} = {3}, {2} = {4};",
                              s.combine == Op::kMax ? ">" : "<", value, place, other, there));
  } else if (s.combine == Op::kAdd || s.combine == Op::kMul) {
    const std::string_view sign = s.combine == Op::kAdd ? "+" : "*";
    if (type == DataType::kC64)
      context_.Line(fmt::format("{0} = kd_{1}_c64({0}, {2});", value, Name(s.combine), other));
    else if (compute == "int")
      context_.Line(
          fmt::format("{0} = (int)((unsigned){0} {1} (unsigned){2});", value, sign, other));
    else
      context_.Line(fmt::format("{0} = {0} {1} {2};", value, sign, other));
  } else {
    const std::string function = fmt::format("kd_{}_{}", Name(s.combine), ComputeElement(type));
    context_.Line(fmt::format("{0} = {1}({0}, {2});", value, function, other));
  }
  for (const std::string& name : {distance, other, there}) context_.taken_names.erase(name);
  --context_.indent;
  context_.Line("}");
}

}  // namespace kindred::internal
