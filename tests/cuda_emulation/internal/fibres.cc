#include "tests/cuda_emulation/internal/fibres.h"

#include <fmt/format.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define KINDRED_FIBRES_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KINDRED_FIBRES_ASAN 1
#endif
#endif
#if defined(KINDRED_FIBRES_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace kindred::cuda_emulation {
namespace {

namespace ctx = boost::context::detail;

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr std::size_t kGuardBytes = 4096;

// AddressSanitizer has to know which stack is in use.
void BeforeSwitch([[maybe_unused]] void** leaving, [[maybe_unused]] const void* stack,
                  [[maybe_unused]] std::size_t bytes) {
#if defined(KINDRED_FIBRES_ASAN)
  __sanitizer_start_switch_fiber(leaving, stack, bytes);
#endif
}
void AfterSwitch([[maybe_unused]] void* arrived, [[maybe_unused]] const void** stack,
                 [[maybe_unused]] std::size_t* bytes) {
#if defined(KINDRED_FIBRES_ASAN)
  __sanitizer_finish_switch_fiber(arrived, stack, bytes);
#endif
}

// Frames that were dropped have left their marks.
void ForgetFrames([[maybe_unused]] const void* stacks, [[maybe_unused]] std::size_t bytes) {
#if defined(KINDRED_FIBRES_ASAN)
  __asan_unpoison_memory_region(stacks, bytes);
#endif
}

}  // namespace

Result<std::unique_ptr<Fibres>> Fibres::Make(int count, void (*run)(int index)) {
  std::unique_ptr<Fibres> fibres(new Fibres);
  fibres->run_ = run;
  fibres->fibres_.resize(static_cast<std::size_t>(count));
  fibres->mapped_ = static_cast<std::size_t>(count) * kStackBytes;
  void* stacks = mmap(nullptr, fibres->mapped_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED)
    return Environment(fmt::format("CUDA emulation: no memory for {} stacks", count));
  fibres->stacks_ = static_cast<std::byte*>(stacks);
  for (int i = 0; i < count; ++i)
    mprotect(fibres->stacks_ + static_cast<std::size_t>(i) * kStackBytes, kGuardBytes, PROT_NONE);
  return fibres;
}

Fibres::~Fibres() {
  if (stacks_ == nullptr) return;
  ForgetFrames(stacks_, mapped_);
  munmap(stacks_, mapped_);
}

bool Fibres::OnStack(int index, const void* address) const {
  const auto* begin = stacks_ + static_cast<std::size_t>(index) * kStackBytes;
  return address >= begin && address < begin + kStackBytes;
}

void Fibres::StartAll() {
  ForgetFrames(stacks_, mapped_);
  for (std::size_t i = 0; i < fibres_.size(); ++i) {
    fibres_[i] = {};
    fibres_[i].context =
        ctx::make_fcontext(stacks_ + (i + 1) * kStackBytes, kStackBytes - kGuardBytes, &Enter);
  }
}

void Fibres::Resume(int index) {
  Fibre& fibre = fibres_[static_cast<std::size_t>(index)];
  current_ = index;
  BeforeSwitch(&scheduler_sanitizer_,
               stacks_ + static_cast<std::size_t>(index) * kStackBytes + kGuardBytes,
               kStackBytes - kGuardBytes);
  const ctx::transfer_t back = ctx::jump_fcontext(fibre.context, this);
  AfterSwitch(scheduler_sanitizer_, nullptr, nullptr);
  fibre.context = back.fctx;
  current_ = -1;
}

void Fibres::SwitchBack(bool for_ever) {
  Fibre& fibre = fibres_[static_cast<std::size_t>(current_)];
  BeforeSwitch(for_ever ? nullptr : &fibre.sanitizer, scheduler_stack_, scheduler_stack_bytes_);
  const ctx::transfer_t resumed = ctx::jump_fcontext(scheduler_, nullptr);
  AfterSwitch(fibre.sanitizer, &scheduler_stack_, &scheduler_stack_bytes_);
  scheduler_ = resumed.fctx;
}

void Fibres::Yield() { SwitchBack(false); }

void Fibres::Enter(ctx::transfer_t transfer) {
  auto* self = static_cast<Fibres*>(transfer.data);
  AfterSwitch(nullptr, &self->scheduler_stack_, &self->scheduler_stack_bytes_);
  self->scheduler_ = transfer.fctx;
  self->run_(self->current_);
  self->SwitchBack(true);
}

}  // namespace kindred::cuda_emulation
