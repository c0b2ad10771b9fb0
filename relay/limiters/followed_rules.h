// FollowedRules: reads the rules of a limiter from its files when the limiter opens, and again whenever the files have
// changed or an operator asks for it. If a later reading fails, the error is logged and the running rules stay.
//
// Threads: Open and Stop are for the owner's thread; between them, any thread may call ReadSoon. Later readings happen
// on a thread of the ConfigWatch (config_watch.h), which then calls `read`, `use` and `note_again`.
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

// `Read` is the type of the rules as they were read. It must have a member `summary`, a text for the log.
template <typename Read>
class FollowedRules {
 public:
  struct Steps {
    std::string limiter;  // the name of the limiter in the log
    std::string path;     // the file or the directory; empty: there is none, and the default rules apply
    // Reads the rules. `running` has the rules in use; it is null at the first reading.
    std::function<Result<Read>(const Read* running)> read;
    // Puts rules into use, in Open and after each later reading that was good.
    std::function<void(const Read&)> use;
    // Called after each later reading; `good`: it succeeded. A reading during which the files changed does not count.
    std::function<void(bool good)> note_again;
  };

  // `files` watches the files of `path`, and looks at them after every `interval`.
  FollowedRules(FileWatch files, std::chrono::milliseconds interval, Steps steps)
      : files_(std::move(files)), interval_(interval), steps_(std::move(steps)) {}

  // Reads the rules, puts them into use and begins to watch the files. If the rules cannot be read, returns the error
  // and changes nothing. Call it once.
  Status Open() {
    std::optional<Result<Read>> read;
    // If the files change meanwhile, the watch reads them again.
    files_.ReadWhole([&] { read = steps_.read(nullptr); });
    if (!read->ok()) return read->status();
    running_ = std::move(*read).value();
    spdlog::info("{}: {}", steps_.limiter, running_.summary);
    steps_.use(running_);
    if (!steps_.path.empty())
      watch_ = std::make_unique<ConfigWatch>(std::move(files_), interval_, [this] { return ReadAgain(); });
    return Status();
  }

  // Asks the watch to read the files again soon. Without a path, only writes to the log that there is nothing to read.
  void ReadSoon() {
    if (watch_ != nullptr) return watch_->ReadSoon();
    spdlog::info("{}: there is no configuration to read again: WEIR_CONFIG is not set", steps_.limiter);
  }

  // Ends the watch, and waits for a reading that runs.
  void Stop() { watch_.reset(); }

 private:
  // Reads the files, and returns the function that puts the rules into use or logs the error.
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

  FileWatch files_;  // until Open, which moves it into the watch
  const std::chrono::milliseconds interval_;
  const Steps steps_;
  Read running_;
  std::unique_ptr<ConfigWatch> watch_;  // destroyed first
};

}  // namespace weir
