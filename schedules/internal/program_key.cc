// The program is written as a byte string in which variables and local buffers are numbered in the
// order of their first appearance, then hashed. Shared subexpressions are written once and referred
// to afterwards.
#include "schedules/internal/program_key.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace kindred::internal {
namespace {

// Numbers nodes in the order in which they are added: an open-addressing table that is cleared in
// no time, since every statement begins a new one.
class NodeNumbers {
 public:
  // The node's number, and whether it is new.
  std::pair<int, bool> Add(const Expr* node) {
    if (static_cast<std::size_t>(count_) * 2 >= slots_.size()) Grow();
    Slot& slot = Find(slots_, node);
    if (slot.round == round_) return {slot.number, false};
    slot = {node, round_, count_};
    return {count_++, true};
  }
  void Clear() {
    ++round_;
    count_ = 0;
  }

 private:
  struct Slot {
    const Expr* node = nullptr;
    std::uint32_t round = 0;  // taken if it is the present one
    int number = 0;
  };

  Slot& Find(std::vector<Slot>& slots, const Expr* node) const {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = (reinterpret_cast<std::uintptr_t>(node) * 0x9e3779b97f4a7c15u) >> 40;
    while (slots[at & mask].round == round_ && slots[at & mask].node != node) ++at;
    return slots[at & mask];
  }
  void Grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.round == round_) Find(larger, slot.node) = slot;
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::uint32_t round_ = 1;
  int count_ = 0;
};

// What a writer needs memory for; kept from program to program.
struct Scratch {
  std::vector<char> bytes = std::vector<char>(1 << 15);
  std::vector<int> variables, buffers;
  NodeNumbers seen;  // within one statement
};

class Writer {
 public:
  Writer(const Program& program, Scratch& scratch)
      : program_(program),
        bytes_(scratch.bytes),
        at_(scratch.bytes.data()),
        end_(scratch.bytes.data() + scratch.bytes.size()),
        variables_(scratch.variables),
        buffers_(scratch.buffers),
        seen_(scratch.seen) {
    variables_.assign(program.variables.size(), -1);
    buffers_.assign(program.buffers.size(), -1);
    seen_.Clear();
  }

  Hash128 Key() {
    Text(program_.compiler);
    for (const std::string& flag : program_.flags) Text(flag);
    Number(program_.plain);
    for (const Stmt* root : {program_.prepare.get(), program_.body.get()}) {
      Number(root != nullptr);
      if (root) Statement(*root);
    }
    return HashOf({bytes_.data(), static_cast<std::size_t>(at_ - bytes_.data())});
  }

 private:
  template <typename T>
  void Number(T value) {
    Need(sizeof(std::int64_t));
    Put(value);
  }
  void Text(const std::string& text) {
    Number(text.size());
    Need(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // Makes room for so many bytes.
  void Need(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) >= size) return;
    const std::ptrdiff_t length = at_ - bytes_.data();
    bytes_.resize(2 * bytes_.size() + size);
    at_ = bytes_.data() + length;
    end_ = bytes_.data() + bytes_.size();
  }
  // A number, where there is room.
  template <typename T>
  void Put(T value) {
    const auto wide = static_cast<std::int64_t>(value);
    std::memcpy(at_, &wide, sizeof(wide));
    at_ += sizeof(wide);
  }

  void Variable(int id) {
    int& number = variables_[static_cast<std::size_t>(id)];
    if (number < 0) number = next_variable_++;
    Number(number);
  }

  void BufferId(int id) {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(id)];
    int& number = buffers_[static_cast<std::size_t>(id)];
    if (number >= 0) return Number(number);
    number = next_buffer_++;
    Number(number);
    Number(b.scope);
    Number(b.type);
    Number(b.argument);
    if (b.scope != Scope::kArgument) Number(b.elements);
  }

  void Expression(const Expr& e) {
    const auto [number, fresh] = seen_.Add(&e);
    Need(3 * sizeof(std::int64_t));
    if (!fresh && !e.args.empty()) {
      Put(-1);
      return Put(number);
    }
    Put(e.op);
    Put(e.type);
    switch (e.op) {
      case Op::kInt: Put(e.integer); break;
      case Op::kFloat: {
        std::int64_t bits = 0;
        std::memcpy(&bits, &e.number, sizeof(bits));
        Put(bits);
        break;
      }
      case Op::kVar: Variable(e.index); break;
      case Op::kExtent: Put(e.index); break;
      case Op::kLoad: BufferId(e.index); break;
      default: break;
    }
    for (const ExprPtr& arg : e.args) Expression(*arg);
  }

  void Statement(const Stmt& s) {
    if (s.kind == StmtKind::kComment) return;
    // A block is its statements.
    if (s.kind == StmtKind::kBlock) {
      for (const StmtPtr& child : s.children) Statement(*child);
      return;
    }
    Number(s.kind);
    seen_.Clear();
    if (s.kind == StmtKind::kFor) {
      Variable(s.var);
      Expression(*s.extent);
      Number(s.loop);
      Number(s.unroll);
    } else if (s.kind == StmtKind::kLet) {
      Variable(s.var);
      Expression(*s.value);
    } else if (s.kind == StmtKind::kStore) {
      BufferId(s.buffer);
      Expression(*s.index);
      Expression(*s.value);
    } else if (s.kind == StmtKind::kCombine) {
      BufferId(s.buffer);
      Expression(*s.index);
      Number(s.combine);
      Number(s.width);
      if (s.position >= 0) BufferId(s.position);
    } else if (s.kind == StmtKind::kCopy) {
      BufferId(s.buffer);
      Expression(*s.index);
      Expression(*s.value);
      Number(s.extent != nullptr);
      if (s.extent) Expression(*s.extent);
      Number(s.width);
    } else if (s.kind == StmtKind::kWaitCopies) {
      Number(s.width);
    } else if (s.kind == StmtKind::kIf) {
      Expression(*s.value);
    }
    for (const StmtPtr& child : s.children) {
      Statement(*child);
      Number(-2);
    }
  }

  const Program& program_;
  std::vector<char>& bytes_;
  char* at_;  // the end of what was written, in bytes_
  char* end_;
  std::vector<int>& variables_;
  std::vector<int>& buffers_;
  int next_variable_ = 0, next_buffer_ = 0;
  NodeNumbers& seen_;
};

}  // namespace

Hash128 ProgramKey(const Program& program) {
  static thread_local Scratch scratch;
  return Writer(program, scratch).Key();
}

}  // namespace kindred::internal
