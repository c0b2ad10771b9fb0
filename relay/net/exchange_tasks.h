// ExchangeTasks: runs the tasks that are posted to an HTTP exchange (HttpPoster in http_stream.h) on the I/O thread of
// its session, in the order of the posts. A task never runs within Post, and not after the exchange has ended.
#pragma once

#include <functional>
#include <memory>

#include "relay/net/http_stream.h"

namespace weir {

class Session;

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
  // Posts a task. May be called from any thread.
  void Post(std::function<void()> task) const { Post(target_, std::move(task)); }
  // Drops the tasks that have not begun, and all later tasks. Must be called on the I/O thread; a task may call it.
  void End();

 private:
  struct Target;
  static void Post(const std::shared_ptr<Target>& target, std::function<void()> task);

  const std::shared_ptr<Target> target_;
};

}  // namespace weir
