#include "relay/server/exchange_tasks.h"

#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

#include "relay/server/io_thread.h"
#include "relay/server/session.h"

namespace weir {

// The state that posters share. The session ends before its thread does.
struct ExchangeTasks::Target {
  std::mutex mutex;
  Session* session;  // null when the exchange has ended; changed on the I/O thread
  const Call call;
};

ExchangeTasks::ExchangeTasks(Session& session, Call call)
    : target_(new Target{.mutex = {}, .session = &session, .call = std::move(call)}) {}

HttpPoster ExchangeTasks::poster() const {
  return [target = target_](std::function<void()> task) { Post(target, std::move(task)); };
}

void ExchangeTasks::Post(const std::shared_ptr<Target>& target, std::function<void()> task) {
  const std::lock_guard lock(target->mutex);
  auto session = target->session != nullptr ? target->session->weak_from_this().lock() : nullptr;
  if (!session) return;
  // No reference to the session stays here: if the posted one is the last, the session ends on its own thread, and not
  // under the mutex that its end takes.
  auto& context = session->thread().context();
  boost::asio::post(context, [target, session = std::move(session), task = std::move(task)] {
    if (target->session != nullptr && !session->ended()) session->Guard([&] { target->call(task); });
  });
}

void ExchangeTasks::End() {
  const std::lock_guard lock(target_->mutex);
  target_->session = nullptr;
}

}  // namespace weir
