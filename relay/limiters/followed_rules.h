// FollowedRules: reads the rules of a limiter from its files when the limiter opens, and again when the files have
// changed or ReadSoon is called. If a later reading fails, it logs the error, and the limiter keeps its rules.
//
// Threads: the limiter's owner calls Open and Stop; between these two calls, any thread may call ReadSoon. Open calls
// `read` and `use` itself. For later readings, the thread of a ConfigWatch calls `read`, `use` and `note_again`.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/status.h"
#include "relay/process/config_watch.h"

namespace weir {

// `Read` is the result of a reading: the rules, and a member `summary`, which describes them in the log.
template <typename Read>
class FollowedRules {
 public:
  struct Steps {
    std::string limiter;  // the name of the limiter in the log
    std::string path;     // the file or directory of the rules; empty: there is none, and default rules apply
    // Reads the rules. `running` points to the rules in use; it is null when Open calls this.
    std::function<Result<Read>(const Read* running)> read;
    // Makes the limiter use the rules. Open calls it, and returns its error. Later it is called after each reading that
    // succeeded, unless the files changed during the reading.
    std::function<Status(const Read&)> use;
    // Called after each later reading, unless the files changed during it; the watch then reads them once more. `good`
    // is true if the limiter uses what was read.
    std::function<void(bool good)> note_again;
  };

  // `files` finds out whether the files at `path` have changed; it is asked once in every `interval`.
  FollowedRules(FileWatch files, std::chrono::milliseconds interval, Steps steps)
      : files_(std::move(files)), interval_(interval), steps_(std::move(steps)) {}

  // Reads the rules, makes the limiter use them and, if there is a path, starts to watch the files. If one of these
  // steps fails, returns its error and does not take the next step. Call Open once.
  Status Open() {
    std::optional<Result<Read>> read;
    // If the files change during this reading, the watch will read them again.
    files_.ReadWhole([&] { read = steps_.read(nullptr); });
    if (!read->ok()) return read->status();
    running_ = std::move(*read).value();
    spdlog::info("{}: {}", steps_.limiter, running_.summary);
    if (Status status = steps_.use(running_); !status.ok()) return status;
    if (!steps_.path.empty())
      watch_ = std::make_unique<ConfigWatch>(std::move(files_), interval_, [this] { return ReadAgain(); });
    return Status();
  }

  // Asks the watch to read the files again soon, and returns at once. If there is no path, only logs that there is
  // nothing to read.
  void ReadSoon() {
    if (watch_ != nullptr) return watch_->ReadSoon();
    spdlog::info("{}: there is no configuration to read again: WEIR_CONFIG is not set", steps_.limiter);
  }

  // Ends the watch. Waits until a reading that has begun is finished.
  void Stop() { watch_.reset(); }

 private:
  // Reads the files. Returns a function that makes the limiter use the rules, or logs why it keeps those that it has.
  std::function<void()> ReadAgain() {
    return [this, read = steps_.read(&running_)] {
      if (read.ok()) spdlog::info("{} was read: {}: {}", steps_.path, steps_.limiter, read.value().summary);
      const Status used = read.ok() ? steps_.use(read.value()) : read.status();
      if (used.ok()) {
        running_ = read.value();
      } else {
        spdlog::error("{}: what runs stays as it was: {}", steps_.limiter, used.message());
      }
      steps_.note_again(used.ok());
    };
  }

  FileWatch files_;  // used until Open moves it into watch_
  const std::chrono::milliseconds interval_;
  const Steps steps_;
  Read running_;
  std::unique_ptr<ConfigWatch> watch_;  // destroyed first
};

}  // namespace weir
