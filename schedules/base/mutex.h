// A mutex whose guarded data clang's -Wthread-safety can check. Use KINDRED_GUARDED_BY on members.
#pragma once

#include <mutex>

#if defined(__clang__)
#define KINDRED_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KINDRED_THREAD_ANNOTATION(x)
#endif

#define KINDRED_CAPABILITY(x) KINDRED_THREAD_ANNOTATION(capability(x))
#define KINDRED_SCOPED_CAPABILITY KINDRED_THREAD_ANNOTATION(scoped_lockable)
#define KINDRED_GUARDED_BY(x) KINDRED_THREAD_ANNOTATION(guarded_by(x))
#define KINDRED_REQUIRES(x) KINDRED_THREAD_ANNOTATION(requires_capability(x))
#define KINDRED_ACQUIRE(...) KINDRED_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KINDRED_RELEASE(...) KINDRED_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

namespace kindred {

class KINDRED_CAPABILITY("mutex") Mutex {
 public:
  void lock() KINDRED_ACQUIRE() { mutex_.lock(); }
  void unlock() KINDRED_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class KINDRED_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KINDRED_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() KINDRED_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace kindred
