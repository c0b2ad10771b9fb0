#include "throttle/c/hosted_throttle.h"

#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "throttle/c/view_json.h"

namespace weir {
namespace {

// The directories whose database has a throttle in this process. Two throttles on one database would each admit all
// that it can carry.
class ThrottledDirectories {
 public:
  bool Add(const std::string& directory) {
    const MutexLock lock(mutex_);
    return directories_.insert(directory).second;
  }
  void Remove(const std::string& directory) {
    const MutexLock lock(mutex_);
    directories_.erase(directory);
  }

 private:
  Mutex mutex_;
  std::set<std::string> directories_ WEIR_GUARDED_BY(mutex_);
};

// Never destroyed: a throttle may end after static destructors have run.
ThrottledDirectories& Directories() {
  static auto* const directories = new ThrottledDirectories;
  return *directories;
}

}  // namespace

Result<std::shared_ptr<HostedThrottle>> HostedThrottle::Attach(const AttachSetup& setup, PropertyReader reader) {
  Result<AttachSetup::Resolved> resolved = setup.Resolve(ProcessEnvironment());
  if (!resolved.ok()) return resolved.status();
  PropertyMonitorSettings& settings = resolved.value().monitor;
  settings.writes_are_limited = resolved.value().limiter.enabled;
  settings.on_event = setup.log;
  if (!settings.on_event)
    settings.on_event = [](const std::string& sentence) { std::fprintf(stderr, "weir: %s\n", sentence.c_str()); };
  Result<std::unique_ptr<PropertyMonitor>> monitor = PropertyMonitor::Attach(std::move(reader), std::move(settings));
  if (!monitor.ok()) return monitor.status();
  std::shared_ptr<HostedThrottle> throttle(new HostedThrottle(std::move(monitor).value(), resolved.value().limiter));
  if (!setup.directory.empty()) {
    std::error_code error;
    const std::string directory = std::filesystem::canonical(setup.directory, error).string();
    if (error) return Status::Error(setup.directory + ": " + error.message());
    if (!Directories().Add(directory))
      return Status::Error("the database in " + directory +
                           " has a throttle already: let all its clients share that one, or detach it first");
    throttle->directory_ = directory;
  }
  if (Status moved = throttle->monitor_->MoveBrakes(); !moved.ok()) return moved;
  if (!setup.sampled_by_program) throttle->monitor_->Start();
  throttle->limiter_.Start();
  return throttle;
}

HostedThrottle::~HostedThrottle() { Detach(); }

Status HostedThrottle::Sample() {
  if (birth_.IsForked()) return Status::Error("this throttle belongs to the parent process: attach a new one");
  return monitor_->SampleOnce();
}

// In a child, another thread of the parent may have held a lock of the limiter's at the fork.
std::string HostedThrottle::View() const {
  return birth_.IsForked() ? "{}" : ViewJson(limiter_.View(), monitor_->LastError());
}

// The limiter stops first, so that no work waits for limits that nothing lifts any more.
void HostedThrottle::Detach() {
  limiter_.Stop();
  if (birth_.IsForked()) {
    if (!directory_.empty()) Directories().Remove(directory_);
    return;
  }
  const MutexLock lock(lifecycle_mutex_);
  if (std::exchange(detached_, true)) return;
  // A database that is closed already needs no brakes, and its error is nobody's.
  (void)monitor_->GiveBrakesBack();
  monitor_->Detach();
  monitor_->Stop();
  if (!directory_.empty()) Directories().Remove(directory_);
}

}  // namespace weir
