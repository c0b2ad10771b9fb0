// Tasks that are posted to an exchange (HttpPoster): called on the I/O thread of its session, on a later turn, in the
// order of the posts, and not once the exchange has ended.
#pragma once

#include <functional>
#include <memory>

#include "relay/server/http_stream.h"

namespace weir {

class Session;

class ExchangeTasks {
 public:
  // `call` calls a task, and handles what it throws.
  using Call = std::function<void(const std::function<void()>& task)>;
  ExchangeTasks(Session& session, Call call);
  ~ExchangeTasks() { End(); }
  ExchangeTasks(const ExchangeTasks&) = delete;
  ExchangeTasks& operator=(const ExchangeTasks&) = delete;

  // Any thread may use it, even when this is gone.
  HttpPoster poster() const;
  void Post(std::function<void()> task) const { Post(target_, std::move(task)); }
  // Called on the I/O thread; a task may call it.
  void End();

 private:
  struct Target;
  static void Post(const std::shared_ptr<Target>& target, std::function<void()> task);

  const std::shared_ptr<Target> target_;
};

}  // namespace weir
