// LSTM, GRU and RNN: one matrix product of all inputs with W, then for each step one of the state
// with R, and the gates.
//
// Up to kMostUnrolled steps are written out. A longer sequence becomes a Scan whose body is the
// step: written out, each step would read its inputs at another place and be a task of its own.
// ONNX operators LSTM, GRU, RNN: equations and order of gates as in their definitions (i o f c; z r
// h).
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Names = std::vector<std::string>;
using Attributes = Expander::Attributes;

constexpr std::int64_t kMostUnrolled = 8;  // steps

enum class Cell { kLstm, kGru, kRnn };

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

// What the operator says, the same for all its directions.
struct Layer {
  Cell cell = Cell::kRnn;
  std::int64_t gates = 1, steps = 0, batch = 0, in = 0, hidden = 0, directions = 1;
  bool reverse_first = false;  // the only direction runs backwards
  bool batch_first = false;    // layout 1
  double clip = 0;             // 0: none
  bool input_forget = false, linear_before_reset = false;
  std::vector<Activation> activations;  // of all directions, in order
  DataType type = DataType::kF32;
};

// Adds nodes one after the other: at once through an Expander, or to the body of a Scan.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Result<Names> Add(const std::string& type, Names inputs, Attributes attributes,
                            int outputs) = 0;
  virtual std::string Number(double value, DataType type) = 0;

  Result<std::string> One(const std::string& type, Names inputs, Attributes attributes = {}) {
    KINDRED_TRY(const Names made, Add(type, std::move(inputs), std::move(attributes), 1));
    return made.front();
  }
};

class DirectWriter : public Writer {
 public:
  explicit DirectWriter(Expander& e) : e_(e) {}
  Result<Names> Add(const std::string& type, Names inputs, Attributes attributes,
                    int outputs) override {
    return e_.AddMany(type, std::move(inputs), outputs, std::move(attributes));
  }
  std::string Number(double value, DataType type) override { return e_.Number(value, type); }

 private:
  Expander& e_;
};

class BodyWriter : public Writer {
 public:
  // Constants are values of the graph around the body.
  BodyWriter(Expander& e, OnnxGraph& body) : e_(e), body_(body) {}
  Result<Names> Add(const std::string& type, Names inputs, Attributes attributes,
                    int outputs) override {
    OnnxNode node;
    node.name = e_.op.node.name;
    node.op = type;
    node.opset = kExpansionOpset;
    node.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i) node.outputs.push_back(fmt::format("step/{}", ++count_));
    node.attributes = std::move(attributes);
    body_.nodes.push_back(node);
    return node.outputs;
  }
  std::string Number(double value, DataType type) override { return e_.Number(value, type); }

 private:
  Expander& e_;
  OnnxGraph& body_;
  int count_ = 0;
};

// Weights of one direction, by name.
struct Weights {
  std::string recurrent;       // [gates * hidden, hidden]
  std::string recurrent_bias;  // of the part that the reset gate scales; GRU, linear_before_reset
  Names peepholes;             // i, o, f: [hidden] each
  std::size_t first_activation = 0;
};

Result<std::string> Activate(Writer& w, const Layer& layer, std::size_t which, std::string x) {
  const Activation& f = layer.activations[which];
  if (layer.clip > 0) {
    KINDRED_TRY(
        x, w.One("Clip", {x, w.Number(-layer.clip, layer.type), w.Number(layer.clip, layer.type)}));
  }
  static constexpr std::string_view kPlain[] = {"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"};
  if (std::find(std::begin(kPlain), std::end(kPlain), f.name) != std::end(kPlain))
    return w.One(f.name, {x});
  if (f.name == "Affine" || f.name == "ScaledTanh") {
    const bool tanh = f.name == "ScaledTanh";
    const std::string first = w.Number(tanh ? f.beta : f.alpha, layer.type);
    KINDRED_TRY(x, w.One("Mul", {x, first}));
    if (tanh) {
      KINDRED_TRY(x, w.One("Tanh", {x}));
    }
    const std::string second = w.Number(tanh ? f.alpha : f.beta, layer.type);
    return w.One(tanh ? "Mul" : "Add", {x, second});
  }
  Attributes attributes = {{"alpha", FloatAttribute(f.alpha)}};
  if (f.name == "HardSigmoid") attributes["beta"] = FloatAttribute(f.beta);
  return w.One(f.name, {x}, attributes);
}

// gate + p * c
Result<std::string> Peep(Writer& w, const Weights& weights, std::size_t which, std::string gate,
                         const std::string& c) {
  if (weights.peepholes.empty()) return gate;
  KINDRED_TRY(const std::string seen, w.One("Mul", {weights.peepholes[which], c}));
  return w.One("Add", {gate, seen});
}

Result<Names> Gates(Writer& w, const std::string& all, std::int64_t count) {
  return w.Add("Split", {all}, {{"axis", IntAttribute(1)}}, static_cast<int>(count));
}

// State after a step: h, and c of an LSTM. `x`: the inputs' part of the gates, [batch, gates *
// hidden], with biases.
Result<Names> LstmStep(Writer& w, const Layer& layer, const Weights& weights, const std::string& x,
                       const Names& state) {
  const std::string& c = state[1];
  KINDRED_TRY(const std::string all,
              w.One("Gemm", {state[0], weights.recurrent, x}, {{"transB", IntAttribute(1)}}));
  KINDRED_TRY(Names gate, Gates(w, all, 4));
  const std::size_t f = weights.first_activation;
  KINDRED_TRY(gate[0], Peep(w, weights, 0, gate[0], c));
  KINDRED_TRY(const std::string i, Activate(w, layer, f, gate[0]));
  std::string forget;
  if (layer.input_forget) {
    KINDRED_TRY(forget, w.One("Sub", {w.Number(1, layer.type), i}));
  } else {
    KINDRED_TRY(gate[2], Peep(w, weights, 2, gate[2], c));
    KINDRED_TRY(forget, Activate(w, layer, f, gate[2]));
  }
  KINDRED_TRY(const std::string fresh, Activate(w, layer, f + 1, gate[3]));
  KINDRED_TRY(const std::string kept, w.One("Mul", {forget, c}));
  KINDRED_TRY(const std::string added, w.One("Mul", {i, fresh}));
  KINDRED_TRY(const std::string next, w.One("Add", {kept, added}));
  KINDRED_TRY(gate[1], Peep(w, weights, 1, gate[1], next));
  KINDRED_TRY(const std::string o, Activate(w, layer, f, gate[1]));
  KINDRED_TRY(const std::string shown, Activate(w, layer, f + 2, next));
  KINDRED_TRY(const std::string h, w.One("Mul", {o, shown}));
  return Names{h, next};
}

Result<Names> GruStep(Writer& w, const Layer& layer, const Weights& weights, const std::string& x,
                      const Names& state) {
  const std::string& h = state[0];
  const std::size_t f = weights.first_activation;
  KINDRED_TRY(const Names in, Gates(w, x, 3));
  std::string zr, candidate;
  Names gate;
  if (layer.linear_before_reset) {
    Names product = {h, weights.recurrent};
    if (!weights.recurrent_bias.empty()) product.push_back(weights.recurrent_bias);
    KINDRED_TRY(const std::string all, w.One("Gemm", product, {{"transB", IntAttribute(1)}}));
    KINDRED_TRY(gate, Gates(w, all, 3));
    for (std::size_t g = 0; g < 2; ++g) {
      KINDRED_TRY(gate[g], w.One("Add", {in[g], gate[g]}));
      KINDRED_TRY(gate[g], Activate(w, layer, f, gate[g]));
    }
    KINDRED_TRY(const std::string reset, w.One("Mul", {gate[1], gate[2]}));
    KINDRED_TRY(candidate, w.One("Add", {in[2], reset}));
  } else {
    KINDRED_TRY(const Names r, w.Add("Split", {weights.recurrent}, {{"axis", IntAttribute(0)}}, 3));
    gate.resize(2);
    for (std::size_t g = 0; g < 2; ++g) {
      KINDRED_TRY(gate[g], w.One("Gemm", {h, r[g], in[g]}, {{"transB", IntAttribute(1)}}));
      KINDRED_TRY(gate[g], Activate(w, layer, f, gate[g]));
    }
    KINDRED_TRY(const std::string reset, w.One("Mul", {gate[1], h}));
    KINDRED_TRY(candidate, w.One("Gemm", {reset, r[2], in[2]}, {{"transB", IntAttribute(1)}}));
  }
  KINDRED_TRY(candidate, Activate(w, layer, f + 1, candidate));
  KINDRED_TRY(const std::string rest, w.One("Sub", {w.Number(1, layer.type), gate[0]}));
  KINDRED_TRY(const std::string fresh, w.One("Mul", {rest, candidate}));
  KINDRED_TRY(const std::string kept, w.One("Mul", {gate[0], h}));
  KINDRED_TRY(const std::string next, w.One("Add", {fresh, kept}));
  return Names{next};
}

Result<Names> Step(Writer& w, const Layer& layer, const Weights& weights, const std::string& x,
                   const Names& state) {
  if (layer.cell == Cell::kLstm) return LstmStep(w, layer, weights, x, state);
  if (layer.cell == Cell::kGru) return GruStep(w, layer, weights, x, state);
  KINDRED_TRY(std::string h,
              w.One("Gemm", {state[0], weights.recurrent, x}, {{"transB", IntAttribute(1)}}));
  KINDRED_TRY(h, Activate(w, layer, weights.first_activation, h));
  return Names{h};
}

class Recurrent {
 public:
  explicit Recurrent(Expander& e) : e_(e) {}

  Result<void> Run(Cell cell) {
    KINDRED_CHECK(ReadLayer(cell));
    x_ = e_.In(0);
    if (layer_.batch_first) {
      KINDRED_TRY(x_, e_.Add("Transpose", {x_}, {{"perm", IntsAttribute({1, 0, 2})}}));
    }
    KINDRED_TRY(x_, Reshape(x_, {layer_.steps * layer_.batch, layer_.in}));
    if (masked_) KINDRED_CHECK(MakeMask());
    Names sequences, states[2];
    for (std::int64_t d = 0; d < layer_.directions; ++d) {
      KINDRED_TRY(std::string sequence, Direction(d, states));
      sequences.push_back(std::move(sequence));
    }
    if (e_.Wants(0)) KINDRED_CHECK(GiveSequences(sequences));
    for (int s = 0; s < (cell == Cell::kLstm ? 2 : 1); ++s)
      if (e_.Wants(1 + s)) KINDRED_CHECK(GiveState(1 + s, states[s]));
    return {};
  }

 private:
  Result<std::string> Reshape(const std::string& x, const Shape& shape) {
    return e_.Add("Reshape", {x, e_.Ints(shape)});
  }

  // Which sequences are still there at each step: bool [steps, batch, 1].
  Result<void> MakeMask() {
    std::vector<std::int64_t> steps;
    for (std::int64_t t = 0; t < layer_.steps; ++t) steps.push_back(t);
    const std::string step =
        e_.Constant(IntegerConstant(DataType::kI64, {layer_.steps, 1, 1}, steps));
    KINDRED_TRY(const auto lengths,
                e_.Add("Cast", {e_.In(4)}, {{"to", IntAttribute(ToOnnxType(DataType::kI64))}}));
    KINDRED_TRY(const auto length, Reshape(lengths, {1, layer_.batch, 1}));
    KINDRED_TRY(mask_, e_.Add("Less", {step, length}));
    return {};
  }

  // A step after a sequence's end leaves its state as it is, and gives zero (`out`). `there`: bool
  // [batch, 1].
  Result<void> Mask(Writer& w, const std::string& there, const Names& before, Names& state,
                    std::string& out) {
    KINDRED_TRY(out, w.One("Where", {there, state[0], w.Number(0, layer_.type)}));
    for (std::size_t s = 0; s < state.size(); ++s) {
      KINDRED_TRY(state[s], w.One("Where", {there, state[s], before[s]}));
    }
    return {};
  }

  // One direction's part of a tensor whose first dimension is the direction, as `shape`.
  Result<std::string> Part(const std::string& x, std::int64_t direction, const Shape& shape) {
    if (x.empty() || layer_.directions == 1) return x.empty() ? x : Reshape(x, shape);
    KINDRED_TRY(const std::string part,
                e_.Add("Slice", {x, e_.Ints({direction}), e_.Ints({direction + 1}), e_.Ints({0})}));
    return Reshape(part, shape);
  }

  Result<void> ReadLayer(Cell cell) {
    OpContext& op = e_.op;
    Layer& l = layer_;
    l.cell = cell;
    l.gates = cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
    l.batch_first = op.Int("layout", 0) != 0;
    l.clip = op.Float("clip", 0);
    const std::string direction = op.Text("direction", "forward");
    l.directions = direction == "bidirectional" ? 2 : 1;
    l.reverse_first = direction == "reverse";
    if (cell == Cell::kLstm) l.input_forget = op.Int("input_forget", 0) != 0;
    if (cell == Cell::kGru) l.linear_before_reset = op.Int("linear_before_reset", 0) != 0;
    op.Int("output_sequence", 0);  // of operator sets before 7
    if (!op.Has(0) || !op.Has(1) || !op.Has(2)) return Unsupported("X, W or R is not there");
    const Shape x = op.InShape(0), w = op.InShape(1), r = op.InShape(2);
    l.type = op.InValue(0).type;
    if (x.size() != 3 || w.size() != 3 || r.size() != 3)
      return BadInput(fmt::format("{}: {} needs X, W and R of three dimensions", op.model.path,
                                  op.node.Label()));
    l.steps = x[l.batch_first ? 1 : 0];
    l.batch = x[l.batch_first ? 0 : 1];
    l.in = x[2];
    l.hidden = r[2];
    if (w != Shape{l.directions, l.gates * l.hidden, l.in} ||
        r != Shape{l.directions, l.gates * l.hidden, l.hidden} ||
        op.Int("hidden_size", l.hidden) != l.hidden)
      return BadInput(fmt::format("{}: {}: X {}, W {} and R {} do not fit together", op.model.path,
                                  op.node.Label(), ShapeText(x), ShapeText(w), ShapeText(r)));
    if (l.steps < 1) return Unsupported("a sequence without steps");
    if (op.Has(4)) {
      const ConstantPtr lengths = op.Peek(4);
      bool whole = lengths != nullptr;
      for (std::int64_t i = 0; whole && i < lengths->elements(); ++i)
        whole = lengths->Integer(i) == l.steps;
      masked_ = !whole;
      if (masked_ && ElementCount(op.InShape(4)) != l.batch)
        return Unsupported("lengths of shape " + ShapeText(op.InShape(4)));
    }
    return ReadActivations();
  }

  Result<void> ReadActivations() {
    OpContext& op = e_.op;
    static const Names kOwn[] = {{"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh"}, {"Tanh"}};
    const Names& own = kOwn[static_cast<int>(layer_.cell)];
    Names names;
    if (const auto given = op.node.attributes.find("activations");
        given != op.node.attributes.end())
      names = given->second.texts;
    op.Ignore("activations");
    for (std::int64_t d = 0;
         names.size() < own.size() * static_cast<std::size_t>(layer_.directions) &&
         d < layer_.directions;
         ++d)
      names.insert(names.end(), own.begin(), own.end());
    const auto alphas = op.Floats("activation_alpha"), betas = op.Floats("activation_beta");
    std::size_t alpha = 0, beta = 0;
    struct Known {
      std::string_view name;
      bool alpha, beta;
      double default_alpha, default_beta;
    };
    static constexpr Known kKnown[] = {
        {"Relu", false, false, 0, 0},        {"Tanh", false, false, 0, 0},
        {"Sigmoid", false, false, 0, 0},     {"Softsign", false, false, 0, 0},
        {"Softplus", false, false, 0, 0},    {"Affine", true, true, 1, 0},
        {"LeakyRelu", true, false, 0.01, 0}, {"ThresholdedRelu", true, false, 1, 0},
        {"ScaledTanh", true, true, 1, 1},    {"HardSigmoid", true, true, 0.2, 0.5},
        {"Elu", true, false, 1, 0}};
    for (const std::string& name : names) {
      const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                      [&](const Known& k) { return k.name == name; });
      if (known == std::end(kKnown))
        return Unsupported(fmt::format("the activation function '{}'", name));
      Activation activation{name, known->default_alpha, known->default_beta};
      if (known->alpha && alphas && alpha < alphas->size()) activation.alpha = (*alphas)[alpha++];
      if (known->beta && betas && beta < betas->size()) activation.beta = (*betas)[beta++];
      layer_.activations.push_back(std::move(activation));
    }
    return {};
  }

  // The inputs' part of all gates of all steps: [steps, batch, gates * hidden].
  Result<std::string> Projected(std::int64_t d, Weights& weights) {
    const std::int64_t width = layer_.gates * layer_.hidden;
    KINDRED_TRY(const std::string w, Part(e_.In(1), d, {width, layer_.in}));
    Names product = {x_, w};
    if (e_.op.Has(3)) {
      KINDRED_TRY(const std::string both, Part(e_.In(3), d, {2, width}));
      KINDRED_TRY(const Names biases, e_.AddMany("Split", {both}, 2, {{"axis", IntAttribute(0)}}));
      std::string bias;
      if (layer_.linear_before_reset) {
        KINDRED_TRY(weights.recurrent_bias, Reshape(biases[1], {width}));
        KINDRED_TRY(bias, Reshape(biases[0], {width}));
      } else {
        KINDRED_TRY(bias, e_.Add("Add", {biases[0], biases[1]}));
        KINDRED_TRY(bias, Reshape(bias, {width}));
      }
      product.push_back(bias);
    }
    KINDRED_TRY(const std::string all, e_.Add("Gemm", product, {{"transB", IntAttribute(1)}}));
    return Reshape(all, {layer_.steps, layer_.batch, width});
  }

  Result<std::string> Begin(int input, std::int64_t d) {
    const Shape shape = {layer_.batch, layer_.hidden};
    if (!e_.op.Has(input)) return e_.Add("Expand", {e_.Number(0, layer_.type), e_.Ints(shape)});
    std::string given = e_.In(input);
    if (layer_.batch_first) {
      KINDRED_TRY(given, e_.Add("Transpose", {given}, {{"perm", IntsAttribute({1, 0, 2})}}));
    }
    return Part(given, d, shape);
  }

  // Gives all h as [steps, 1, batch, hidden] ("" where nothing reads them), and appends the last
  // state.
  Result<std::string> Direction(std::int64_t d, Names (&last)[2]) {
    Weights weights;
    const std::int64_t width = layer_.gates * layer_.hidden;
    KINDRED_TRY(const std::string all, Projected(d, weights));
    KINDRED_TRY(weights.recurrent, Part(e_.In(2), d, {width, layer_.hidden}));
    const bool lstm = layer_.cell == Cell::kLstm;
    if (lstm && e_.op.Has(7)) {
      KINDRED_TRY(const std::string p, Part(e_.In(7), d, {3, layer_.hidden}));
      KINDRED_TRY(weights.peepholes, e_.AddMany("Split", {p}, 3, {{"axis", IntAttribute(0)}}));
    }
    weights.first_activation = static_cast<std::size_t>(d) * (lstm                        ? 3
                                                              : layer_.cell == Cell::kGru ? 2
                                                                                          : 1);
    Names state;
    for (int s = 0; s < (lstm ? 2 : 1); ++s) {
      KINDRED_TRY(std::string begin, Begin(5 + s, d));
      state.push_back(std::move(begin));
    }
    const bool reverse = layer_.reverse_first || d == 1;
    std::string sequence;
    if (layer_.steps > kMostUnrolled) {
      KINDRED_TRY(sequence, Scanned(weights, all, state, reverse));
    } else {
      KINDRED_TRY(sequence, Unrolled(weights, all, state, reverse));
    }
    for (std::size_t s = 0; s < state.size(); ++s) last[s].push_back(state[s]);
    if (sequence.empty()) return sequence;
    return Reshape(sequence, {layer_.steps, 1, layer_.batch, layer_.hidden});
  }

  Result<std::string> Unrolled(const Weights& weights, const std::string& all, Names& state,
                               bool reverse) {
    DirectWriter writer(e_);
    Names made(static_cast<std::size_t>(layer_.steps));
    for (std::int64_t s = 0; s < layer_.steps; ++s) {
      const std::int64_t t = reverse ? layer_.steps - 1 - s : s;
      KINDRED_TRY(std::string x,
                  e_.Add("Slice", {all, e_.Ints({t}), e_.Ints({t + 1}), e_.Ints({0})}));
      KINDRED_TRY(x, Reshape(x, {layer_.batch, layer_.gates * layer_.hidden}));
      const Names before = state;
      KINDRED_TRY(state, Step(writer, layer_, weights, x, state));
      std::string out = state[0];
      if (masked_) {
        KINDRED_TRY(const auto one,
                    e_.Add("Slice", {mask_, e_.Ints({t}), e_.Ints({t + 1}), e_.Ints({0})}));
        KINDRED_TRY(const auto there, Reshape(one, {layer_.batch, 1}));
        KINDRED_CHECK(Mask(writer, there, before, state, out));
      }
      KINDRED_TRY(made[static_cast<std::size_t>(t)],
                  Reshape(out, {1, layer_.batch, layer_.hidden}));
    }
    if (!e_.Wants(0)) return std::string();
    if (made.size() == 1) return made.front();
    return e_.Add("Concat", made, {{"axis", IntAttribute(0)}});
  }

  Result<std::string> Scanned(const Weights& weights, const std::string& all, Names& state,
                              bool reverse) {
    auto body = std::make_shared<OnnxGraph>();
    Names inside;
    for (std::size_t s = 0; s < state.size(); ++s) inside.push_back(s == 0 ? "h" : "c");
    for (const std::string& name : inside) body->inputs.push_back({name, 0, false, {}});
    body->inputs.push_back({"x", 0, false, {}});
    if (masked_) body->inputs.push_back({"m", 0, false, {}});
    BodyWriter writer(e_, *body);
    KINDRED_TRY(Names next, Step(writer, layer_, weights, "x", inside));
    std::string out = next.front();
    if (masked_) KINDRED_CHECK(Mask(writer, "m", inside, next, out));
    for (const std::string& name : next) body->outputs.push_back({name, 0, false, {}});
    body->outputs.push_back({out, 0, false, {}});
    OnnxAttribute graph;
    graph.kind = OnnxAttribute::Kind::kGraph;
    graph.graph = std::move(body);
    const std::int64_t backwards = reverse ? 1 : 0;
    const auto direction = IntsAttribute({backwards});
    Names inputs = state;
    inputs.push_back(all);
    if (masked_) inputs.push_back(mask_);
    KINDRED_TRY(Names made,
                e_.AddMany("Scan", inputs, static_cast<int>(state.size()) + 1,
                           {{"body", graph},
                            {"num_scan_inputs", IntAttribute(masked_ ? 2 : 1)},
                            {"scan_input_directions",
                             masked_ ? IntsAttribute({backwards, backwards}) : direction},
                            {"scan_output_directions", direction}}));
    std::string sequence = made.back();
    made.pop_back();
    state = std::move(made);
    return sequence;
  }

  Result<void> GiveSequences(const Names& sequences) {
    std::string all = sequences.front();
    if (sequences.size() > 1) {
      KINDRED_TRY(all, e_.Add("Concat", sequences, {{"axis", IntAttribute(1)}}));
    }
    if (!layer_.batch_first) return e_.AddOut(0, "Identity", {all});
    return e_.AddOut(0, "Transpose", {all}, {{"perm", IntsAttribute({2, 0, 1, 3})}});
  }

  Result<void> GiveState(int output, const Names& states) {
    Names parts;
    for (const std::string& state : states) {
      KINDRED_TRY(std::string part, Reshape(state, {1, layer_.batch, layer_.hidden}));
      parts.push_back(std::move(part));
    }
    std::string all = parts.front();
    if (parts.size() > 1) {
      KINDRED_TRY(all, e_.Add("Concat", parts, {{"axis", IntAttribute(0)}}));
    }
    if (!layer_.batch_first) return e_.AddOut(output, "Identity", {all});
    return e_.AddOut(output, "Transpose", {all}, {{"perm", IntsAttribute({1, 0, 2})}});
  }

  Expander& e_;
  Layer layer_;
  std::string x_;  // [steps * batch, in]
  bool masked_ = false;
  std::string mask_;  // where `masked_`
};

}  // namespace

void AddRecurrentExpansions(ExpansionTable& table) {
  table["LSTM"] = [](Expander& e) { return Recurrent(e).Run(Cell::kLstm); };
  table["GRU"] = [](Expander& e) { return Recurrent(e).Run(Cell::kGru); };
  table["RNN"] = [](Expander& e) { return Recurrent(e).Run(Cell::kRnn); };
}

}  // namespace kindred
