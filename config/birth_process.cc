#include "config/birth_process.h"

#include <pthread.h>

#include <stdexcept>

namespace weir {

constinit std::atomic<uint32_t> internal::forks_behind{0};

BirthProcess::BirthProcess() {
  static const int failed =
      pthread_atfork(nullptr, nullptr, [] { internal::forks_behind.fetch_add(1, std::memory_order_relaxed); });
  if (failed != 0) throw std::runtime_error("pthread_atfork failed: there is too little memory");
  forks_ = internal::forks_behind.load(std::memory_order_relaxed);
}

}  // namespace weir
