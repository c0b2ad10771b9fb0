#include "relay/net/owed_answer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "relay/net/http_error.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/session.h"

namespace weir {
namespace {

constexpr int kNotGiven = 0;  // the status of an answer whose reply was destroyed without a call

HttpResponse Worded(HttpResponse response) {
  if (response.status == kNotGiven)
    response = {.status = 500, .body = "this request met a fault in the server, and was not answered\n"};
  return PlainErrorAsJson(std::move(response));
}

}  // namespace

// Owed: the state that the copies of one reply share.
class AnswerDesk::Owed final : public HttpReply::Receiver {
 public:
  Owed(std::shared_ptr<AnswerDesk> desk, uint64_t number) : desk_(std::move(desk)), number_(number) {}
  Owed(const Owed&) = delete;
  Owed& operator=(const Owed&) = delete;
  ~Owed() override {
    if (!given()) desk_->Give(number_, {.status = kNotGiven, .content_type = {}});
  }

  uint64_t number() const { return number_; }
  bool given() const { return given_.load(std::memory_order_relaxed); }

  void Give(HttpResponse response) override {
    if (!given_.exchange(true, std::memory_order_relaxed)) desk_->Give(number_, std::move(response));
  }
  bool Abandoned() const override { return desk_->Abandoned(number_); }
  void OnLeft(HttpReply::LeftHandler handler) override { desk_->OnLeft(*this, std::move(handler)); }

 private:
  const std::shared_ptr<AnswerDesk> desk_;
  const uint64_t number_;
  std::atomic<bool> given_{false};
};

std::optional<HttpResponse> AnswerDesk::Ask(const HttpRouter& router, HttpRequest& request, uint64_t number) {
  try {
    auto routed = router.Route(request);
    if (auto* answer = std::get_if<HttpResponse>(&routed)) return std::move(*answer);
    (*std::get<const HttpDeferredHandler*>(routed))(request, Expect(number));
    return Defer();
  } catch (const std::exception& e) {
    Forget(number);
    return router.Worded(request, AnswerToFault(request, e.what()));
  }
}

HttpReply AnswerDesk::Expect(uint64_t number) {
  {
    const MutexLock lock(mutex_);
    owed_.try_emplace(number);
    asked_ = number;
  }
  return HttpReply(std::make_shared<Owed>(shared_from_this(), number));
}

std::optional<HttpResponse> AnswerDesk::Defer() {
  std::optional<HttpResponse> answer;
  {
    const MutexLock lock(mutex_);
    if (!at_once_) places_.emplace_back();
    asked_.reset();
    answer.swap(at_once_);
  }
  if (answer) answer = Worded(*std::move(answer));
  return answer;
}

std::list<AnswerDesk::Answer> AnswerDesk::Take() {
  std::list<Answer> answers;
  {
    const MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers) answer.response = Worded(std::move(answer.response));
  return answers;
}

// Removes a request and returns its handler. The handler may own a reply, so the caller must neither call it nor
// destroy it under the lock.
HttpReply::LeftHandler AnswerDesk::Forget(uint64_t number) {
  const MutexLock lock(mutex_);
  const bool has_place = asked_ != number;
  if (asked_ == number) {
    asked_.reset();
    at_once_.reset();
  }
  const auto owed = owed_.extract(number);
  if (!owed) return {};
  if (has_place) places_.pop_front();
  return std::move(owed.mapped());
}

void AnswerDesk::Leave(uint64_t number) {
  if (const HttpReply::LeftHandler told = Forget(number)) told(HttpLeft::kClient);
}

void AnswerDesk::HangUp() {
  {
    const MutexLock lock(mutex_);
    hung_up_ = true;
  }
  Tell(HttpLeft::kClient);
}

void AnswerDesk::Tell(HttpLeft why) {
  std::vector<HttpReply::LeftHandler> told;
  {
    const MutexLock lock(mutex_);
    for (auto& [number, handler] : owed_)
      if (handler) told.push_back(std::exchange(handler, nullptr));
  }
  for (const HttpReply::LeftHandler& handler : told) handler(why);
}

bool AnswerDesk::has_answers() const {
  const MutexLock lock(mutex_);
  return !answers_.empty();
}

bool AnswerDesk::is_to_be_told() const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(owed_, [](const auto& owed) { return owed.second != nullptr; });
}

void AnswerDesk::OnLeft(const Owed& owed, HttpReply::LeftHandler handler) {
  std::optional<HttpLeft> why;
  {
    const MutexLock lock(mutex_);
    if (owed.given()) return;
    const auto place = owed_.find(owed.number());
    why = place == owed_.end() ? HttpLeft::kClient : WhyLeft();
    if (!why) place->second.swap(handler);
  }
  if (why) handler(*why);
}

std::optional<HttpLeft> AnswerDesk::WhyLeft() const {
  if (session_ == nullptr || hung_up_) return HttpLeft::kClient;
  if (session_->thread().core().going.load(std::memory_order_relaxed)) return HttpLeft::kServer;
  return std::nullopt;
}

bool AnswerDesk::Abandoned(uint64_t number) const {
  const MutexLock lock(mutex_);
  return session_ == nullptr || hung_up_ || !owed_.contains(number);
}

void AnswerDesk::Leave() {
  {
    const MutexLock lock(mutex_);
    session_ = nullptr;
  }
  Tell(HttpLeft::kClient);
}

// Allocates nothing except for the post, because replies give answers in their destructors.
void AnswerDesk::Give(uint64_t number, HttpResponse response) {
  decltype(owed_)::node_type owed;  // destroyed without the lock, see Forget
  const MutexLock lock(mutex_);
  owed = owed_.extract(number);
  if (!owed || session_ == nullptr) return;
  if (asked_ == number) {
    at_once_ = std::move(response);
    return;
  }
  places_.front() = {.number = number, .response = std::move(response)};
  answers_.splice(answers_.end(), places_, places_.begin());
  if (answers_.size() > 1) return;
  // If the session has no owner any more, it is about to call Leave.
  auto session = session_->weak_from_this().lock();
  if (!session) return;
  try {
    Session::ProcessSoon(std::move(session));
  } catch (const std::exception&) {  // out of memory; the stage also looks for answers in its ticks
  }
}

}  // namespace weir
