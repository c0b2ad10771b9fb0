// ExchangeTasks: runs the tasks that are posted to an HTTP exchange (HttpPoster in http_stream.h) on the I/O thread of
// its session, in the order of the posts. A task never runs within Post, and not after the exchange has ended.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "relay/net/http_stream.h"

namespace weir {

class Session;

// The text of the fault that ends an exchange if a task was lost.
inline constexpr std::string_view kTaskLost = "there was no memory to post a task";

class ExchangeTasks {
 public:
  // Calls a task and handles its exceptions.
  using Call = std::function<void(const std::function<void()>& task)>;
  ExchangeTasks(Session& session, Call call);
  ~ExchangeTasks() { End(); }
  ExchangeTasks(const ExchangeTasks&) = delete;
  ExchangeTasks& operator=(const ExchangeTasks&) = delete;

  // Returns a function that posts a task. It may be called on any thread, even after End or after this object is
  // destroyed; it then does nothing.
  HttpPoster poster() const;
  // Posts a task. May be called from any thread. Does not throw.
  void Post(std::function<void()> task) const { Post(target_, std::move(task)); }
  // Returns true if a task could not be posted because memory had run out. The exchange should then end, because its
  // handler may wait for the task. The stage must check this at its ticks.
  bool has_lost_one() const;
  // Drops the tasks that have not begun, and all later tasks. Must be called on the I/O thread; a task may call it.
  void End();

 private:
  struct Target;
  static void Post(const std::shared_ptr<Target>& target, std::function<void()> task);

  const std::shared_ptr<Target> target_;
};

}  // namespace weir
