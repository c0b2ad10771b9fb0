// AwaitAdmission: AdaptiveLimiter::Admit for coroutines and other asynchronous code on Boost.Asio. No other file in
// throttle/ includes this header, so the rest of throttle/ needs no Boost.
//
//   Admission admission = co_await AwaitAdmission(limiter, Operation::kWrite, Cost{size}, Party{connection_id});
//   if (!admission.admitted()) co_return Busy(admission.reason(), admission.retry_after());
//
// AwaitAdmission accepts any completion token for the signature void(Admission). The handler gets an Admission that is
// admitted or refused, never one that waits. The handler runs on its associated executor, never inside the call of
// AwaitAdmission. No thread blocks, and a pending wait counts as outstanding work of the executor's context. If the
// token's cancellation slot is triggered during the wait, the request leaves the queue, and the handler gets a refusal
// with the reason "cancelled". When the context is destroyed, pending waits are cancelled, and their handlers are
// destroyed without being called. The limiter must outlive the context.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "config/mutex.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace internal {

// A wait that can be abandoned when its execution context is destroyed.
class PendingWait {
 public:
  virtual ~PendingWait() = default;
  virtual void Abandon() = 0;
};

// The pending waits of one execution context. When the context is destroyed, Asio calls shutdown first, while the
// objects that the handlers use still exist.
class PendingWaits final : public boost::asio::execution_context::service {
 public:
  using key_type = PendingWaits;  // NOLINT(readability-identifier-naming): a name that Asio looks for
  static inline boost::asio::execution_context::id id;

  explicit PendingWaits(boost::asio::execution_context& context) : service(context) {}

  void Add(std::shared_ptr<PendingWait> wait) {
    const MutexLock lock(mutex_);
    PendingWait* address = wait.get();
    waits_.emplace(address, std::move(wait));
  }

  void Remove(PendingWait* wait) {
    const MutexLock lock(mutex_);
    waits_.erase(wait);
  }

 private:
  void shutdown() override {
    std::unordered_map<PendingWait*, std::shared_ptr<PendingWait>> waits;
    {
      const MutexLock lock(mutex_);
      waits.swap(waits_);
    }
    for (auto& [address, wait] : waits) wait->Abandon();
  }

  Mutex mutex_;
  std::unordered_map<PendingWait*, std::shared_ptr<PendingWait>> waits_ WEIR_GUARDED_BY(mutex_);
};

template <typename Handler>
class AdmissionWait final : public PendingWait, public std::enable_shared_from_this<AdmissionWait<Handler>> {
 public:
  using Executor = boost::asio::associated_executor_t<Handler>;

  AdmissionWait(Admission admission, Handler handler, const Executor& executor)
      : admission_(std::move(admission)),
        handler_(std::move(handler)),
        executor_(executor),
        work_(executor),
        waits_(boost::asio::use_service<PendingWaits>(boost::asio::query(executor, boost::asio::execution::context))) {}

  void Begin() {
    waits_.Add(this->shared_from_this());
    if (auto slot = boost::asio::get_associated_cancellation_slot(*handler_); slot.is_connected()) {
      slot.assign([weak = this->weak_from_this()](boost::asio::cancellation_type type) {
        const auto self = weak.lock();
        if (self && type != boost::asio::cancellation_type::none && self->admission_.Cancel()) self->Post(self);
      });
    }
    // OnSettled comes last: from here on another thread may complete the wait.
    admission_.OnSettled([self = this->shared_from_this()]() mutable { Post(std::move(self)); });
  }

  void Abandon() override {
    admission_.Cancel();
    handler_.reset();
    work_.reset();
  }

 private:
  static void Post(std::shared_ptr<AdmissionWait> self) {
    const Executor executor = self->executor_;
    boost::asio::post(executor, [self = std::move(self)] { self->Complete(); });
  }

  void Complete() {
    waits_.Remove(this);
    if (auto slot = boost::asio::get_associated_cancellation_slot(*handler_); slot.is_connected()) slot.clear();
    admission_.Poll();
    const auto work = std::move(work_);
    Handler handler = *std::move(handler_);
    handler_.reset();
    std::move(handler)(std::move(admission_));
  }

  Admission admission_;
  std::optional<Handler> handler_;
  const Executor executor_;
  boost::asio::executor_work_guard<Executor> work_;
  PendingWaits& waits_;
};

struct InitiateAdmission {
  template <typename Handler>
  void operator()(Handler&& handler, AdaptiveLimiter* limiter, Operation operation, Cost cost, Party party) const {
    const auto executor = boost::asio::get_associated_executor(handler);
    Admission admission = limiter->Admit(operation, cost, party);
    if (admission.waiting()) {
      using Wait = AdmissionWait<std::decay_t<Handler>>;
      std::make_shared<Wait>(std::move(admission), std::forward<Handler>(handler), executor)->Begin();
      return;
    }
    boost::asio::post(executor, [admission = std::move(admission), handler = std::forward<Handler>(handler)]() mutable {
      std::move(handler)(std::move(admission));
    });
  }
};

}  // namespace internal

template <typename CompletionToken = boost::asio::use_awaitable_t<>>
auto AwaitAdmission(AdaptiveLimiter& limiter, Operation operation, Cost cost, Party party = {},
                    CompletionToken&& token = CompletionToken()) {
  return boost::asio::async_initiate<CompletionToken, void(Admission)>(internal::InitiateAdmission(), token, &limiter,
                                                                       operation, cost, party);
}

}  // namespace weir
