// What emulated device code and the emulator (internal/machine.h) call of each other: plain C
// types, compiled into both.
#pragma once

extern "C" {

enum KdEmulationAccess {
  kKdRead = 0,
  kKdWrite = 1,
  kKdAtomic = 2,        // reads and writes at once
  kKdReadConstant = 3,  // through the cache that does not see the kernel's own writes
};

enum KdEmulationWarpOp {
  kKdSyncWarp,
  kKdShuffle,
  kKdShuffleXor,
  kKdShuffleUp,
  kKdShuffleDown,
  kKdBallot,
};

// threadIdx, blockIdx, blockDim, gridDim; x, y, z.
struct KdEmulationIndex {
  unsigned thread[3], block[3], block_dim[3], grid_dim[3];
};

// `pc` is where the kernel called from; sizes and alignments in bytes. A function does not return
// if it found a mistake.
struct KdEmulationHost {
  const struct KdEmulationIndex* (*index)(void);
  void (*access)(const void* address, unsigned long bytes, unsigned long alignment,
                 enum KdEmulationAccess kind, const void* pc);
  void (*shared_memory)(unsigned long alignment);
  void* (*shared)(unsigned long offset, unsigned long bytes, unsigned long alignment,
                  const char* name);
  void* (*dynamic_shared)(const char* name);  // all of the launch's dynamic shared memory
  void (*barrier)(int line);
  void (*fence)(void);
  unsigned long long (*warp)(enum KdEmulationWarpOp op, unsigned mask, unsigned long long bits,
                             int operand, int width, const void* pc);
  void (*copy)(void* to, const void* from, unsigned size, int bytes, const void* pc);
  void (*commit_copies)(void);
  void (*wait_copies)(int groups_left);
};

// A parameter of a kernel: bytes of what it points to (0: it is no pointer), and whether it may be
// written through.
struct KdEmulationParameter {
  unsigned element_bytes;
  int writable;
};

}  // extern "C"
