// Waits for what another thread or another process does and tells nobody of.
#pragma once

#include <chrono>
#include <thread>

namespace weir {

// True as soon as it is; false after a minute.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace weir
