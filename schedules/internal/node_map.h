// NodeMap: what is known of some expressions, by node. Open addressing; the first few dozen need no
// memory of their own. Holds on to no key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "schedules/expr.h"

namespace kindred::internal {

template <typename Value>
class NodeMap {
 public:
  NodeMap() = default;
  NodeMap(const NodeMap&) = delete;
  NodeMap& operator=(const NodeMap&) = delete;

  // The value of `node`, and whether it was not there before (it is a default value then). Valid
  // until the next Add.
  std::pair<Value&, bool> Add(const Expr* node) {
    if (count_ * 2 >= capacity_) Grow();
    Slot& slot = At(node);
    const bool fresh = slot.node == nullptr;
    if (fresh) {
      slot.node = node;
      ++count_;
    }
    return {slot.value, fresh};
  }
  // nullptr: not there.
  const Value* Find(const Expr* node) const {
    const Slot& slot = const_cast<NodeMap*>(this)->At(node);
    return slot.node == nullptr ? nullptr : &slot.value;
  }

 private:
  static constexpr std::size_t kInline = 32;
  struct Slot {
    const Expr* node = nullptr;
    Value value{};
  };

  Slot& At(const Expr* node) {
    Slot* slots = larger_.empty() ? inline_.data() : larger_.data();
    std::size_t at = (reinterpret_cast<std::uintptr_t>(node) * 0x9e3779b97f4a7c15u) >> 40;
    while (slots[at & (capacity_ - 1)].node != nullptr && slots[at & (capacity_ - 1)].node != node)
      ++at;
    return slots[at & (capacity_ - 1)];
  }
  void Grow() {
    std::vector<Slot> old = std::move(larger_);
    if (old.empty())
      old.assign(std::make_move_iterator(inline_.begin()), std::make_move_iterator(inline_.end()));
    capacity_ *= 2;
    larger_ = std::vector<Slot>(capacity_);
    for (Slot& slot : old)
      if (slot.node != nullptr) At(slot.node) = std::move(slot);
  }

  std::size_t capacity_ = kInline, count_ = 0;
  std::array<Slot, kInline> inline_{};
  std::vector<Slot> larger_;
};

}  // namespace kindred::internal
