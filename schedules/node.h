// Memory of expressions and statements: the nodes of schedules/expr.h and schedules/program.h.
//
// A node is made by MakeNode and held by NodePtr. Ordinarily nodes are counted (by atomics, so
// threads may share them) and freed with their last pointer. Lowering makes some thousand nodes for
// every candidate of a search and drops them together: within a NodeArena::Scope, the nodes of that
// thread lie in the arena, pointers to them count nothing, and they go when the arena goes, each
// without a destructor of its own. What lies in an arena may point to counted nodes (the arena
// holds on to them); who points into an arena must not outlive it, which the Program that owns it
// sees to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace kindred {

// What node types derive from. A copy is a node of its own.
class Node {
 public:
  Node() = default;
  Node(const Node&) {}
  Node& operator=(const Node&) { return *this; }

 private:
  template <typename T>
  friend class NodePtr;

  mutable std::atomic<std::uint32_t> owners_ = 1;  // of nothing in an arena
};

class NodeArena {
 public:
  NodeArena() = default;
  ~NodeArena() {
    for (const Held& held : held_) held.release(held.object);
  }
  NodeArena(const NodeArena&) = delete;
  NodeArena& operator=(const NodeArena&) = delete;

  // While one lives, this thread makes its nodes in `arena`.
  class Scope {
   public:
    explicit Scope(NodeArena& arena) : outer_(std::exchange(current_, &arena)) {}
    ~Scope() { current_ = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    NodeArena* outer_;
  };
  static NodeArena* current() { return current_; }  // nullptr: nodes are counted

  void* Allocate(std::size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > left_) AddBlock(bytes);
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  // Calls release(object) when the arena goes.
  void Hold(const void* object, void (*release)(const void*)) {
    held_.push_back({object, release});
  }

 private:
  static constexpr std::size_t kAlignment = 8;
  static constexpr std::size_t kBlock = 16 << 10;
  struct Held {
    const void* object;
    void (*release)(const void*);
  };

  void AddBlock(std::size_t least) {
    left_ = least > kBlock ? least : kBlock;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(left_));
    next_ = blocks_.back().get();
  }

  static inline constinit thread_local NodeArena* current_ = nullptr;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Held> held_;
};

// A shared pointer to a node. T may be const. One that counts is marked by its lowest bit, so that
// pointers into an arena that is gone may still be dropped.
template <typename T>
class NodePtr {
 public:
  NodePtr() = default;
  NodePtr(std::nullptr_t) {}
  NodePtr(const NodePtr& other) : bits_(other.bits_) { Take(); }
  NodePtr(NodePtr&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  NodePtr(const NodePtr<std::remove_const_t<T>>& other) requires std::is_const_v<T>
      : bits_(other.bits_) {
    Take();
  }
  NodePtr(NodePtr<std::remove_const_t<T>>&& other) noexcept requires std::is_const_v<T>
      : bits_(std::exchange(other.bits_, 0)) {}
  NodePtr& operator=(const NodePtr& other) {
    NodePtr copy(other);
    std::swap(bits_, copy.bits_);
    return *this;
  }
  NodePtr& operator=(NodePtr&& other) noexcept {
    NodePtr taken(std::move(other));
    std::swap(bits_, taken.bits_);
    return *this;
  }
  ~NodePtr() {
    if (Counted() && get()->owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete get();
  }

  T* get() const { return reinterpret_cast<T*>(bits_ & ~kCounted); }
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  explicit operator bool() const { return bits_ != 0; }
  friend bool operator==(const NodePtr& a, const NodePtr& b) { return a.get() == b.get(); }

  // `pointer` as a member of something in the current arena, whose destructor does not run: the
  // arena, if there is one, takes over what `pointer` holds.
  static NodePtr ForMember(NodePtr pointer) {
    NodeArena* arena = NodeArena::current();
    if (arena == nullptr || !pointer.Counted()) return pointer;
    arena->Hold(pointer.get(), [](const void* node) {
      NodePtr last;
      last.bits_ = reinterpret_cast<std::uintptr_t>(node) | kCounted;
    });
    NodePtr member;
    member.bits_ = std::exchange(pointer.bits_, 0);
    return member;
  }

 private:
  template <typename U>
  friend class NodePtr;
  template <typename U, typename... Arguments>
  friend auto MakeNode(Arguments&&... arguments);

  static constexpr std::uintptr_t kCounted = 1;
  bool Counted() const { return (bits_ & kCounted) != 0; }
  void Take() {
    if (Counted()) get()->owners_.fetch_add(1, std::memory_order_relaxed);
  }

  std::uintptr_t bits_ = 0;
};

// A new node, in the current arena or counted.
template <typename T, typename... Arguments>
auto MakeNode(Arguments&&... arguments) {
  NodePtr<T> made;
  if (NodeArena* arena = NodeArena::current()) {
    T* node = ::new (arena->Allocate(sizeof(T))) T(std::forward<Arguments>(arguments)...);
    made.bits_ = reinterpret_cast<std::uintptr_t>(node);
  } else {
    T* node = new T(std::forward<Arguments>(arguments)...);
    made.bits_ = reinterpret_cast<std::uintptr_t>(node) | NodePtr<T>::kCounted;
  }
  return made;
}

// Some pointers to nodes, as a member of a node: as many as it was made with. Lies in the current
// arena, if there is one.
template <typename T>
class NodeList {
 public:
  NodeList() = default;
  NodeList(std::span<const T> nodes) { Fill(nodes.data(), nodes.size()); }
  NodeList(std::initializer_list<T> nodes) { Fill(nodes.begin(), nodes.size()); }
  NodeList(const std::vector<T>& nodes) { Fill(nodes.data(), nodes.size()); }
  NodeList(const NodeList& other) { Fill(other.data_, other.size_); }
  NodeList(NodeList&& other) noexcept { Swap(other); }
  NodeList& operator=(NodeList other) noexcept {
    Swap(other);
    return *this;
  }
  ~NodeList() {
    if (owned_) delete[] data_;
  }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }

 private:
  void Fill(const T* nodes, std::size_t size) {
    size_ = static_cast<std::uint32_t>(size);
    if (size == 0) return;
    if (NodeArena* arena = NodeArena::current()) {
      data_ = static_cast<T*>(arena->Allocate(size * sizeof(T)));
      for (std::size_t i = 0; i < size; ++i) ::new (data_ + i) T(T::ForMember(nodes[i]));
    } else {
      data_ = new T[size];
      owned_ = true;
      for (std::size_t i = 0; i < size; ++i) data_[i] = nodes[i];
    }
  }
  void Swap(NodeList& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
  }

  T* data_ = nullptr;
  std::uint32_t size_ = 0;
  bool owned_ = false;
};

}  // namespace kindred
