// Fibres of one block: stacks that are used again from block to block, and switches to and from
// them. A fibre that is dropped is not unwound; what it runs must own nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "schedules/base/result.h"

namespace kindred::cuda_emulation {

class Fibres {
 public:
  // Error (kEnvironment): the system gives no memory for the stacks.
  static Result<std::unique_ptr<Fibres>> Make(int count, void (*run)(int index));
  ~Fibres();
  Fibres(const Fibres&) = delete;
  Fibres& operator=(const Fibres&) = delete;

  void StartAll();         // every fibre stands before its first instruction
  void Resume(int index);  // until it calls Yield or its function ends
  void Yield();            // called on a fibre
  bool OnStack(int index, const void* address) const;

 private:
  Fibres() = default;
  static void Enter(boost::context::detail::transfer_t transfer);
  void SwitchBack(bool for_ever);

  struct Fibre {
    boost::context::detail::fcontext_t context = nullptr;
    void* sanitizer = nullptr;
  };
  std::byte* stacks_ = nullptr;
  std::size_t mapped_ = 0;
  std::vector<Fibre> fibres_;
  void (*run_)(int) = nullptr;
  int current_ = -1;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  void* scheduler_sanitizer_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
};

}  // namespace kindred::cuda_emulation
