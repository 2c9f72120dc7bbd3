// Threads for what must not run on the I/O thread: importing, searching, answers that are not kept.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kindred {

class Workers {
 public:
  Workers(int threads, std::size_t most_waiting);
  // Waits for the jobs under way; those that wait are dropped unrun.
  ~Workers();

  // False: too many wait already, and the job was not taken.
  bool Post(std::function<void()> job);
  std::size_t waiting() const;

 private:
  void Work();

  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kindred
