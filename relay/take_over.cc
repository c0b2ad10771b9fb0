#include "relay/take_over.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "relay/process/lock_file.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

Status AskHolderToGo(const std::string& directory, std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  pid_t asked = 0;
  while (const std::optional<LockHolder> found = HolderOf(directory)) {
    const pid_t holder = found->process;
    if (holder != asked && holder > 0 && holder != getpid() && HasLockOpen(holder, directory)) {
      if (kill(holder, SIGTERM) != 0) {
        return Status::Error("cannot ask process " + std::to_string(holder) + ", which has " + directory +
                             ", to stop: " + std::strerror(errno));
      }
      spdlog::info("asked process {} to stop; it has {}", holder, directory);
      asked = holder;
    }
    if (std::chrono::steady_clock::now() >= until) {
      return Status::Error(directory + " is still in use" +
                           (asked > 0 ? " by process " + std::to_string(asked) + ", which was asked to stop" : "") +
                           "; stop it by hand");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return Status();
}

}  // namespace weir
