#include "relay/server/owed_answer.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "relay/server/session.h"

namespace weir {

// What the copies of one reply share.
class AnswerDesk::Owed final : public HttpReply::Receiver {
 public:
  Owed(std::shared_ptr<AnswerDesk> desk, uint64_t number) : desk_(std::move(desk)), number_(number) {}
  Owed(const Owed&) = delete;
  Owed& operator=(const Owed&) = delete;
  ~Owed() override {
    if (!given_.load(std::memory_order_relaxed))
      desk_->Give(number_, {.status = 500, .body = "this request met a fault in the server: nobody answered it\n"});
  }

  void Give(HttpResponse response) override {
    if (!given_.exchange(true, std::memory_order_relaxed)) desk_->Give(number_, std::move(response));
  }
  bool Abandoned() const override { return desk_->Abandoned(number_); }

 private:
  const std::shared_ptr<AnswerDesk> desk_;
  const uint64_t number_;
  std::atomic<bool> given_{false};
};

HttpReply AnswerDesk::Expect() {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++number_;
    deferred_ = false;
    answer_.reset();
  }
  return HttpReply(std::make_shared<Owed>(shared_from_this(), number));
}

std::optional<HttpResponse> AnswerDesk::Defer() {
  const std::lock_guard lock(mutex_);
  deferred_ = !answer_.has_value();
  return std::exchange(answer_, std::nullopt);
}

std::optional<HttpResponse> AnswerDesk::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

void AnswerDesk::Forget() {
  const std::lock_guard lock(mutex_);
  ++number_;
  answer_.reset();
}

void AnswerDesk::HangUp() {
  const std::lock_guard lock(mutex_);
  hung_up_ = true;
}

bool AnswerDesk::Abandoned(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return session_ == nullptr || hung_up_ || number != number_;
}

void AnswerDesk::Leave() {
  const std::lock_guard lock(mutex_);
  session_ = nullptr;
}

void AnswerDesk::Give(uint64_t number, HttpResponse response) {
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr || number != number_) return;
  answer_ = std::move(response);
  if (!deferred_) return;
  // One whose last owner is gone is about to call Leave.
  if (auto session = session_->weak_from_this().lock()) Session::ProcessSoon(std::move(session));
}

}  // namespace weir
