#include "relay/net/exchange_tasks.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "config/mutex.h"
#include "relay/net/io_thread.h"
#include "relay/net/session.h"

namespace weir {

// Target: the state that posters share. The session is destroyed before its I/O thread.
struct ExchangeTasks::Target {
  Mutex mutex;
  // Null once the exchange has ended. Only the I/O thread changes it.
  Session* session WEIR_GUARDED_BY(mutex);
  const Call call;
  bool has_lost_one WEIR_GUARDED_BY(mutex) = false;
};

ExchangeTasks::ExchangeTasks(Session& session, Call call)
    : target_(new Target{.mutex = {}, .session = &session, .call = std::move(call)}) {}

HttpPoster ExchangeTasks::poster() const {
  return [target = target_](std::function<void()> task) { Post(target, std::move(task)); };
}

void ExchangeTasks::Post(const std::shared_ptr<Target>& target, std::function<void()> task) {
  const MutexLock lock(target->mutex);
  auto session = target->session != nullptr ? target->session->weak_from_this().lock() : nullptr;
  if (!session) return;
  if (!task) {
    target->has_lost_one = true;
    return;
  }
  // The reference to the session is moved into the posted task. So if it is the last one, the session is destroyed on
  // its own thread, and not under the mutex that its destructor locks.
  auto& context = session->thread().context();
  // The task reads target->session without the mutex, because only this task's thread changes it.
  try {
    boost::asio::post(context, [target, session = std::move(session), task = std::move(task)]() WEIR_UNCHECKED_LOCKS {
      if (target->session != nullptr && !session->ended()) session->Guard([&] { target->call(task); });
    });
  } catch (const std::exception&) {  // out of memory
    target->has_lost_one = true;
  }
}

bool ExchangeTasks::has_lost_one() const {
  const MutexLock lock(target_->mutex);
  return target_->has_lost_one;
}

void ExchangeTasks::End() {
  const MutexLock lock(target_->mutex);
  target_->session = nullptr;
}

}  // namespace weir
