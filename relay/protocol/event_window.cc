#include "relay/protocol/event_window.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace weir {
namespace {

// The number of copies of an event in flight: its text and its record; while it is searched for words, its record and
// its content; or, while a plugin judges it, its record and the question's line. A queued event has only its text.
constexpr uint64_t kCopies = 2;

}  // namespace

EventWindow::EventWindow(RelayContext& context, EventPipeline& pipeline, std::shared_ptr<Peer> peer)
    : context_(context), pipeline_(pipeline), peer_(std::move(peer)) {}

EventWindow::~EventWindow() {
  if (in_flight_ > 0) GiveBack(in_flight_bytes_);
}

void EventWindow::Add(std::string_view event_json) {
  if (gathered_ == nullptr) {
    gathered_ = std::make_shared<EventBatch>();
    gathered_->sender = shared_from_this();
    gathered_->party = peer_->party();
    gathered_->address = peer_->address_bytes();
    gathered_->identity = peer_->identity();
    gathered_->received = context_.clock.Now();
  }
  gathered_->Add(event_json);
  if (gathered_->count >= std::min(EventBatch::kMost, most_in_flight())) Flush();
}

void EventWindow::Flush() {
  if (gathered_ == nullptr) return;
  peer_->account()->Take(gathered_->budget_bytes(), Memory::kWaiting);
  queued_.push_back(std::move(gathered_));
  SubmitWhatFits();
}

void EventWindow::SubmitWhatFits() {
  while (!queued_.empty() && !waits_for_budget_ && in_flight_ + queued_.front()->count <= most_in_flight()) {
    // The callback does not own the batch, because the callback may wait for long, and the connection may end
    // meanwhile.
    const uint64_t bytes = queued_.front()->budget_bytes();
    const auto granted = [self = shared_from_this(), bytes] {
      boost::asio::post(self->peer_->executor(), [self, bytes] { self->OnGranted(bytes); });
    };
    waits_for_budget_ = !context_.budget.Take(peer_->party().group, bytes, granted);
    if (!waits_for_budget_) SubmitFront();
  }
  PauseOrResume();
}

void EventWindow::OnGranted(uint64_t bytes) {
  waits_for_budget_ = false;
  if (queued_.empty()) {  // the connection has ended
    context_.budget.Answered(peer_->party().group, bytes);
    return context_.budget.GiveBack(bytes);
  }
  SubmitFront();
  SubmitWhatFits();
}

void EventWindow::SubmitFront() {
  const uint64_t bytes = queued_.front()->budget_bytes();
  peer_->account()->Take((kCopies - 1) * bytes, Memory::kWaiting);
  in_flight_ += queued_.front()->count;
  in_flight_bytes_ += bytes;
  pipeline_.Submit(std::move(queued_.front()));
  queued_.pop_front();
}

void EventWindow::OnAnswers(std::span<Answer> answers) {
  const TimePoint now = context_.clock.Now();
  for (Answer& answer : answers) {
    if (answer.wants_auth) peer_->AskForAuth();
    context_.counters.EventToOk(now - answer.received);
    if (!answer.refusal.empty()) peer_->LogRefusal(Verb::kEvent, answer.refusal);
    peer_->Say(answer.is_notice ? RelayVerb::kNotice : RelayVerb::kOk, std::move(answer.message));
  }
  // Releases the mean size of the events in flight for each answer, and the whole rest after the last answer.
  GiveBack(in_flight_bytes_ / in_flight_ * answers.size() +
           (answers.size() == in_flight_ ? in_flight_bytes_ % in_flight_ : 0));
  in_flight_ -= answers.size();
  SubmitWhatFits();
  if (in_flight_ == 0 && queued_.empty() && when_idle_) std::exchange(when_idle_, nullptr)();
}

void EventWindow::GiveBack(uint64_t bytes) {
  in_flight_bytes_ -= bytes;
  peer_->account()->GiveBack(kCopies * bytes, Memory::kWaiting);
  context_.budget.Answered(peer_->party().group, bytes);
}

void EventWindow::PauseOrResume() {
  const bool full = in_flight_ >= most_in_flight() || !queued_.empty();
  const bool half_free = in_flight_ <= most_in_flight() / 2 && queued_.empty();
  if (!paused_ && full) {
    paused_ = true;
    peer_->PauseReading();
  } else if (paused_ && half_free) {
    paused_ = false;
    peer_->ResumeReading();
  }
}

void EventWindow::WhenIdle(std::function<void()> callback) {
  Flush();
  if (in_flight_ == 0 && queued_.empty()) return callback();
  when_idle_ = std::move(callback);
}

void EventWindow::End() {
  gathered_.reset();
  for (const auto& batch : queued_) peer_->account()->GiveBack(batch->budget_bytes(), Memory::kWaiting);
  queued_.clear();
  when_idle_ = nullptr;
}

}  // namespace weir
