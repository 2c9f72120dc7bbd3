// Sequences whose length is known when the model is read: nothing but names for their elements.
#include <algorithm>

#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kLongest = 4096;

// A sequence that the model or a body may give as a result has no form.
Result<void> CheckOutput(const Expander& e) {
  if (e.InBody()) return Unsupported("a sequence in a branch or a loop, which is no tensor");
  for (const OnnxValue& output : e.op.model.outputs)
    if (output.name == e.op.node.outputs[0])
      return Unsupported("a sequence as a result of the model, which is no tensor");
  return {};
}

Result<Names> Elements(const Expander& e) {
  const Names* elements = e.Sequence(0);
  if (elements == nullptr) return Unsupported("a sequence whose elements are not known");
  return *elements;
}

// Which element input 1 names; `otherwise` where it is left away.
Result<std::size_t> Place(Expander& e, int input, std::size_t count, std::size_t otherwise,
                          const std::string& what) {
  if (!e.op.Has(input)) return otherwise;
  KINDRED_TRY(const auto given, e.op.KnownInts(input, what));
  const auto size = static_cast<std::int64_t>(count);
  if (given.size() != 1 || given[0] < -size || given[0] >= size)
    return Unsupported("a place outside the sequence");
  return static_cast<std::size_t>(given[0] < 0 ? given[0] + size : given[0]);
}

Result<void> SequenceConstruct(Expander& e) {
  KINDRED_CHECK(CheckOutput(e));
  Names elements;
  for (int i = 0; i < e.op.inputs(); ++i) elements.push_back(e.In(i));
  e.SetSequence(0, std::move(elements));
  return {};
}

Result<void> SequenceEmpty(Expander& e) {
  KINDRED_CHECK(CheckOutput(e));
  e.op.Ignore("dtype");
  e.SetSequence(0, {});
  return {};
}

Result<void> SequenceInsert(Expander& e) {
  KINDRED_CHECK(CheckOutput(e));
  KINDRED_TRY(Names elements, Elements(e));
  const std::size_t count = elements.size();
  std::size_t place = count;
  if (e.op.Has(2)) {  // before that element; its number may be the length
    KINDRED_TRY(const auto given, e.op.KnownInts(2, "position"));
    if (given.size() != 1) return Unsupported("positions of shape " + ShapeText(e.op.InShape(2)));
    if (given[0] != static_cast<std::int64_t>(count)) {
      KINDRED_TRY(place, Place(e, 2, count, count, "position"));
    }
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), e.In(1));
  e.SetSequence(0, std::move(elements));
  return {};
}

Result<void> SequenceErase(Expander& e) {
  KINDRED_CHECK(CheckOutput(e));
  KINDRED_TRY(Names elements, Elements(e));
  if (elements.empty()) return Unsupported("an element of an empty sequence");
  KINDRED_TRY(const std::size_t place,
              Place(e, 1, elements.size(), elements.size() - 1, "position"));
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  e.SetSequence(0, std::move(elements));
  return {};
}

Result<void> SequenceAt(Expander& e) {
  KINDRED_TRY(const Names elements, Elements(e));
  if (elements.empty()) return Unsupported("an element of an empty sequence");
  KINDRED_TRY(const std::size_t place, Place(e, 1, elements.size(), 0, "position"));
  return e.AddOut(0, "Identity", {elements[place]});
}

Result<void> SequenceLength(Expander& e) {
  KINDRED_TRY(const Names elements, Elements(e));
  const auto count = static_cast<std::int64_t>(elements.size());
  return e.AddOut(0, "Identity", {e.Integer(count, DataType::kI64)});
}

Result<void> ConcatFromSequence(Expander& e) {
  const std::int64_t axis = e.op.Int("axis", 0);
  const bool stacks = e.op.Int("new_axis", 0) != 0;
  KINDRED_TRY(Names elements, Elements(e));
  if (elements.empty()) return Unsupported("an empty sequence");
  for (std::string& element : elements) {
    if (!e.ValueOf(element).has_shape || !e.ValueOf(element).has_type)
      return Unsupported("elements of no known shape");
    if (!stacks) continue;
    KINDRED_TRY(element, e.Add("Unsqueeze", {element, e.Ints({axis})}));
  }
  return e.AddOut(0, "Concat", elements, {{"axis", IntAttribute(axis)}});
}

Result<void> SplitToSequence(Expander& e) {
  KINDRED_CHECK(CheckOutput(e));
  const Shape shape = e.op.InShape(0);
  const bool keeps = e.op.Int("keepdims", 1) != 0 || e.op.Has(1);
  KINDRED_TRY(const std::int64_t axis, NormaliseAxis(e.op, e.op.Int("axis", 0), shape.size()));
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  Shape sizes;
  std::int64_t step = 1;
  if (e.op.Has(1)) {
    KINDRED_TRY(sizes, e.op.KnownInts(1, "sizes"));
    if (e.op.InShape(1).empty()) {
      step = sizes[0];
      sizes.clear();
    }
  }
  if (step < 1 || extent / step > kLongest || static_cast<std::int64_t>(sizes.size()) > kLongest)
    return Unsupported(fmt::format("pieces of {} of {} elements", step, extent));
  if (sizes.empty())
    for (std::int64_t done = 0; done < extent; done += step)
      sizes.push_back(std::min(step, extent - done));
  if (sizes.empty()) return Unsupported("a dimension without elements");
  KINDRED_TRY(Names pieces,
              e.AddMany("Split", {e.In(0), e.Ints(sizes)}, static_cast<int>(sizes.size()),
                        {{"axis", IntAttribute(axis)}}));
  for (std::string& piece : pieces) {
    if (keeps) break;
    KINDRED_TRY(piece, e.Add("Squeeze", {piece, e.Ints({axis})}));
  }
  e.SetSequence(0, std::move(pieces));
  return {};
}

}  // namespace

void AddSequenceExpansions(ExpansionTable& table) {
  table["ConcatFromSequence"] = ConcatFromSequence;
  table["SequenceAt"] = SequenceAt;
  table["SequenceConstruct"] = SequenceConstruct;
  table["SequenceEmpty"] = SequenceEmpty;
  table["SequenceErase"] = SequenceErase;
  table["SequenceInsert"] = SequenceInsert;
  table["SequenceLength"] = SequenceLength;
  table["SplitToSequence"] = SplitToSequence;
}

}  // namespace kindred
