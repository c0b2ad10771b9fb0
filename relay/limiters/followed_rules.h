// FollowedRules: the rules of a limiter, read from its files when it opens, and again whenever they have changed or an
// operator asks. If they cannot be read again, the error is logged and the running rules stay.
//
// Threads: the owner's; rules that are read again are used on the watch's thread.
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

// `Read` has a `summary` for the log.
template <typename Read>
class FollowedRules {
 public:
  struct Steps {
    std::string limiter;  // its name in the log
    std::string path;     // the file or the directory; empty if there is none and the defaults hold
    std::function<Result<Read>(const Read* running)> read;  // `running` is null at first
    std::function<void(const Read&)> use;
    std::function<void(bool good)> note_again;  // called after each reading but the first
  };

  // `files` are those of the path.
  FollowedRules(FileWatch files, std::chrono::milliseconds interval, Steps steps)
      : files_(std::move(files)), interval_(interval), steps_(std::move(steps)) {}

  Status Open() {
    std::optional<Result<Read>> read;
    // If they change meanwhile, the watch reads them again.
    files_.ReadWhole([&] { read = steps_.read(nullptr); });
    if (!read->ok()) return read->status();
    running_ = std::move(*read).value();
    spdlog::info("{}: {}", steps_.limiter, running_.summary);
    steps_.use(running_);
    if (!steps_.path.empty())
      watch_ = std::make_unique<ConfigWatch>(std::move(files_), interval_, [this] { return ReadAgain(); });
    return Status();
  }

  void ReadSoon() {
    if (watch_ != nullptr) return watch_->ReadSoon();
    spdlog::info("{}: there is no configuration to read again: WEIR_CONFIG is not set", steps_.limiter);
  }

  void Stop() { watch_.reset(); }

 private:
  // Reads the files, and returns what is to be done with them.
  std::function<void()> ReadAgain() {
    return [this, read = steps_.read(&running_)] {
      if (read.ok()) {
        running_ = read.value();
        spdlog::info("{} was read: {}: {}", steps_.path, steps_.limiter, running_.summary);
        steps_.use(running_);
      } else {
        spdlog::error("{}: what runs stays as it was: {}", steps_.limiter, read.status().message());
      }
      steps_.note_again(read.ok());
    };
  }

  FileWatch files_;  // the watch takes them over
  const std::chrono::milliseconds interval_;
  const Steps steps_;
  Read running_;
  std::unique_ptr<ConfigWatch> watch_;  // destroyed first
};

}  // namespace weir
