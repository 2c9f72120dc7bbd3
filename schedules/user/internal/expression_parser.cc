// Recursive descent over Python's grammar of expressions, one function per level of precedence.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "schedules/user/internal/expression_node.h"

namespace kindred {
namespace {

using Node = Expression::Node;
using NodePtr = std::unique_ptr<Node>;
using internal::Token;

constexpr int kDeepest = 200;

struct Level {
  std::vector<std::string_view> ops;
};
// From the loosest to the tightest of the operators that go from left to right.
const std::vector<Level>& Levels() {
  static const std::vector<Level> levels = {{{"|"}},        {{"^"}},      {{"&"}},
                                            {{"<<", ">>"}}, {{"+", "-"}}, {{"*", "/", "//", "%"}}};
  return levels;
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> names, std::vector<Token> tokens)
      : text_(text), names_(names), tokens_(std::move(tokens)) {}

  Result<NodePtr> Parse() {
    KINDRED_CHECK(SkipLambda());
    KINDRED_TRY(NodePtr root, Conditional());
    if (now().kind != Token::Kind::kEnd)
      return Fail("an operator or the end is missing before this");
    return root;
  }

  std::vector<std::size_t> Used() {
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    return used_;
  }
  std::size_t slots() const { return names_.size() + variables_.size(); }

 private:
  const Token& now() const { return tokens_[at_]; }
  bool Is(std::string_view text) const {
    return (now().kind == Token::Kind::kSymbol || now().kind == Token::Kind::kName) &&
           now().text == text;
  }
  bool Accept(std::string_view text) {
    if (!Is(text)) return false;
    ++at_;
    return true;
  }
  Result<void> Expect(std::string_view text) {
    if (Accept(text)) return {};
    return Fail(fmt::format("'{}' is missing here", text));
  }
  Error Fail(std::string_view why) const {
    return internal::ExpressionError(text_, now().column, why);
  }
  NodePtr Make(Node::Kind kind) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->column = now().column;
    return node;
  }

  Result<void> SkipLambda() {
    if (!Accept("lambda")) return {};
    if (now().kind != Token::Kind::kName) return Fail("lambda takes one name");
    mapping_ = now().text;
    ++at_;
    return Expect(":");
  }

  Result<NodePtr> Conditional();
  Result<NodePtr> Boolean(bool any);
  Result<NodePtr> Not();
  Result<NodePtr> Comparison();
  Result<NodePtr> Binary(std::size_t level);
  Result<NodePtr> Unary();
  Result<NodePtr> Power();
  Result<NodePtr> Postfix();
  Result<NodePtr> Atom();
  Result<NodePtr> Name();
  Result<NodePtr> Elements(std::string_view close, NodePtr list);
  Result<NodePtr> Comprehension(std::size_t start, std::string_view close);
  std::optional<std::string> ComparisonOp();
  std::optional<std::size_t> SlotOf(std::string_view name) const;
  NodePtr Slot(std::size_t slot);

  std::string_view text_;
  std::span<const std::string> names_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string mapping_;                 // p of `lambda p:`
  std::vector<std::string> variables_;  // of comprehensions; empty once out of scope
  std::vector<std::size_t> used_;
};

Result<NodePtr> Parser::Conditional() {
  if (++depth_ > kDeepest) return Fail("the expression is nested too deeply");
  KINDRED_TRY(NodePtr value, Boolean(true));
  if (Is("if")) {
    NodePtr node = Make(Node::Kind::kConditional);
    ++at_;
    KINDRED_TRY(NodePtr condition, Boolean(true));
    KINDRED_CHECK(Expect("else"));
    KINDRED_TRY(NodePtr otherwise, Conditional());
    node->children.push_back(std::move(condition));
    node->children.push_back(std::move(value));
    node->children.push_back(std::move(otherwise));
    value = std::move(node);
  }
  --depth_;
  return value;
}

Result<NodePtr> Parser::Boolean(bool any) {
  const char* const word = any ? "or" : "and";
  KINDRED_TRY(NodePtr left, any ? Boolean(false) : Not());
  if (!Is(word)) return left;
  NodePtr node = Make(any ? Node::Kind::kOr : Node::Kind::kAnd);
  node->children.push_back(std::move(left));
  while (Accept(word)) {
    KINDRED_TRY(NodePtr right, any ? Boolean(false) : Not());
    node->children.push_back(std::move(right));
  }
  return node;
}

Result<NodePtr> Parser::Not() {
  if (!Is("not")) return Comparison();
  if (++depth_ > kDeepest) return Fail("the expression is nested too deeply");
  NodePtr node = Make(Node::Kind::kNot);
  ++at_;
  KINDRED_TRY(NodePtr operand, Not());
  node->children.push_back(std::move(operand));
  --depth_;
  return node;
}

std::optional<std::string> Parser::ComparisonOp() {
  for (const char* op : {"<", "<=", ">", ">=", "==", "!=", "in"})
    if (Accept(op)) return op;
  if (!Is("not")) return std::nullopt;
  ++at_;
  if (Accept("in")) return "not in";
  --at_;
  return std::nullopt;
}

Result<NodePtr> Parser::Comparison() {
  KINDRED_TRY(NodePtr left, Binary(0));
  NodePtr node = Make(Node::Kind::kComparison);
  while (auto op = ComparisonOp()) {
    if (node->children.empty()) node->children.push_back(std::move(left));
    node->ops.push_back(std::move(*op));
    KINDRED_TRY(NodePtr right, Binary(0));
    node->children.push_back(std::move(right));
  }
  return node->children.empty() ? std::move(left) : std::move(node);
}

Result<NodePtr> Parser::Binary(std::size_t level) {
  if (level == Levels().size()) return Unary();
  KINDRED_TRY(NodePtr left, Binary(level + 1));
  const auto& ops = Levels()[level].ops;
  while (now().kind == Token::Kind::kSymbol &&
         std::find(ops.begin(), ops.end(), now().text) != ops.end()) {
    NodePtr node = Make(Node::Kind::kArithmetic);
    node->op = now().text;
    ++at_;
    KINDRED_TRY(NodePtr right, Binary(level + 1));
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    left = std::move(node);
  }
  return left;
}

Result<NodePtr> Parser::Unary() {
  if (!Is("-") && !Is("+") && !Is("~")) return Power();
  if (++depth_ > kDeepest) return Fail("the expression is nested too deeply");
  NodePtr node = Make(Node::Kind::kUnary);
  node->op = now().text;
  ++at_;
  KINDRED_TRY(NodePtr operand, Unary());
  node->children.push_back(std::move(operand));
  --depth_;
  return node;
}

// Binds tighter than a sign on its left, looser than one on its right.
Result<NodePtr> Parser::Power() {
  KINDRED_TRY(NodePtr base, Postfix());
  if (!Is("**")) return base;
  NodePtr node = Make(Node::Kind::kArithmetic);
  node->op = "**";
  ++at_;
  KINDRED_TRY(NodePtr exponent, Unary());
  node->children.push_back(std::move(base));
  node->children.push_back(std::move(exponent));
  return node;
}

Result<NodePtr> Parser::Postfix() {
  KINDRED_TRY(NodePtr value, Atom());
  while (Is("[")) {
    NodePtr node = Make(Node::Kind::kIndex);
    ++at_;
    KINDRED_TRY(NodePtr position, Conditional());
    KINDRED_CHECK(Expect("]"));
    node->children.push_back(std::move(value));
    node->children.push_back(std::move(position));
    value = std::move(node);
  }
  return value;
}

Result<NodePtr> Parser::Atom() {
  NodePtr node = Make(Node::Kind::kConstant);
  const Token& token = now();
  if (token.kind == Token::Kind::kNumber || token.kind == Token::Kind::kText) {
    node->constant = token.kind == Token::Kind::kNumber ? token.number : Value(token.text);
    ++at_;
    return node;
  }
  if (token.kind == Token::Kind::kName) return Name();
  node->kind = Node::Kind::kList;
  if (Accept("[")) return Elements("]", std::move(node));
  if (!Accept("(")) return Fail("a value is missing here");
  if (Is(")")) return Elements(")", std::move(node));
  const std::size_t start = at_;
  KINDRED_TRY(NodePtr inner, Conditional());
  if (Accept(")")) return inner;
  at_ = start;
  return Elements(")", std::move(node));
}

Result<NodePtr> Parser::Elements(std::string_view close, NodePtr list) {
  const std::size_t start = at_;
  // The variable of a comprehension stands behind what it is used in.
  int open = 0;
  for (std::size_t i = at_; i < tokens_.size(); ++i) {
    const std::string& text = tokens_[i].text;
    if (tokens_[i].kind == Token::Kind::kSymbol && (text == "(" || text == "[")) ++open;
    if (tokens_[i].kind == Token::Kind::kSymbol && (text == ")" || text == "]") && open-- == 0)
      break;
    if (open == 0 && tokens_[i].kind == Token::Kind::kName && text == "for")
      return Comprehension(start, close);
    if (open == 0 && text == "," && tokens_[i].kind == Token::Kind::kSymbol) break;
  }
  while (!Accept(close)) {
    KINDRED_TRY(NodePtr element, Conditional());
    list->children.push_back(std::move(element));
    if (!Is(close)) KINDRED_CHECK(Expect(","));
  }
  return list;
}

Result<NodePtr> Parser::Comprehension(std::size_t start, std::string_view close) {
  NodePtr node = Make(Node::Kind::kComprehension);
  int open = 0;
  while (open > 0 || !(now().kind == Token::Kind::kName && now().text == "for")) {
    if (Is("(") || Is("[")) ++open;
    if (Is(")") || Is("]")) --open;
    ++at_;
  }
  ++at_;
  if (now().kind != Token::Kind::kName || now().text == "in")
    return Fail("a name is missing after 'for'");
  const std::string variable = now().text;
  ++at_;
  KINDRED_CHECK(Expect("in"));
  KINDRED_TRY(NodePtr list, Boolean(true));
  const std::size_t index = variables_.size();
  node->slot = names_.size() + index;
  variables_.push_back(variable);
  NodePtr condition;
  if (Accept("if")) {
    KINDRED_TRY(condition, Boolean(true));
  }
  const std::size_t end = at_;
  at_ = start;
  KINDRED_TRY(NodePtr element, Conditional());
  if (!Is("for")) return Fail("'for' is missing here");
  at_ = end;
  KINDRED_CHECK(Expect(close));
  variables_[index].clear();
  node->children.push_back(std::move(element));
  node->children.push_back(std::move(list));
  if (condition) node->children.push_back(std::move(condition));
  return node;
}

std::optional<std::size_t> Parser::SlotOf(std::string_view name) const {
  for (std::size_t i = variables_.size(); i-- > 0;)
    if (variables_[i] == name) return names_.size() + i;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return i;
  return std::nullopt;
}

NodePtr Parser::Slot(std::size_t slot) {
  NodePtr node = Make(Node::Kind::kSlot);
  node->slot = slot;
  if (slot < names_.size()) used_.push_back(slot);
  return node;
}

Result<NodePtr> Parser::Name() {
  const Token token = now();
  const auto constant = [&](Value value) {
    NodePtr node = Make(Node::Kind::kConstant);
    node->constant = std::move(value);
    ++at_;
    return node;
  };
  if (token.text == "True" || token.text == "False") return constant(Value(token.text == "True"));
  const auto slot = SlotOf(token.text);
  if (slot && token.text != mapping_) {
    NodePtr node = Slot(*slot);
    ++at_;
    return node;
  }
  // p["x"]
  if (tokens_[at_ + 1].text == "[" && tokens_[at_ + 1].kind == Token::Kind::kSymbol &&
      tokens_[at_ + 2].kind == Token::Kind::kText && (mapping_.empty() || token.text == mapping_)) {
    at_ += 2;
    const auto named = SlotOf(now().text);
    if (!named) return Fail(fmt::format("there is no parameter '{}'", now().text));
    NodePtr node = Slot(*named);
    ++at_;
    KINDRED_CHECK(Expect("]"));
    return node;
  }
  if (token.text == "math" && tokens_[at_ + 1].text == "." &&
      tokens_[at_ + 2].kind == Token::Kind::kName)
    at_ += 2;
  if (!IsFunction(now().text) || tokens_[at_ + 1].text != "(")
    return Fail(fmt::format("there is no parameter '{}'", now().text));
  NodePtr node = Make(Node::Kind::kCall);
  node->op = now().text;
  at_ += 2;
  NodePtr list = Make(Node::Kind::kList);
  KINDRED_TRY(NodePtr arguments, Elements(")", std::move(list)));
  if (arguments->kind == Node::Kind::kComprehension)
    node->children.push_back(std::move(arguments));
  else
    node->children = std::move(arguments->children);
  return node;
}

}  // namespace

Result<Expression> Expression::Parse(std::string_view text, std::span<const std::string> names) {
  KINDRED_TRY(std::vector<Token> tokens, internal::Tokenize(text));
  Parser parser(text, names, std::move(tokens));
  KINDRED_TRY(NodePtr root, parser.Parse());
  Expression expression;
  expression.text_ = text;
  expression.parameters_ = parser.Used();
  expression.slots_ = parser.slots();
  expression.root_ = std::move(root);
  return expression;
}

}  // namespace kindred
