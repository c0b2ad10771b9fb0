#include "relay/watch/top/feed_follower.h"

#include <pthread.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/text/readable.h"
#include "relay/process/http_error_words.h"
#include "relay/watch/top/event_stream.h"

namespace weir {
namespace {

constexpr uint64_t kMostAnswer = EventStreamReader::kMostBytes;
// After kMostSilent attempts in a row that brought no second event, the follower polls the state; at every twelfth
// attempt it tries the stream again.
constexpr int kMostSilent = 2;
constexpr int kTryAgainEvery = 12;

std::string FirstLine(const std::string& body) {
  constexpr size_t kMost = 300;
  return AsText(ErrorWordsIn(body, kMost));
}

}  // namespace

std::string FeedFollower::ProblemOf(const HttpAnswer& answer, const Attachment& attachment,
                                    std::string_view content_type) {
  refused_ = answer.ok() && (answer.status == 401 || answer.status == 403);
  if (!answer.ok()) return answer.problem;
  const std::string origin = attachment.url.Origin();
  const std::string says = origin + " answers " + std::to_string(answer.status);
  if (refused_) return says + ". " + attachment.advice + " It says: " + FirstLine(answer.body);
  if (answer.status == 404) return says + ": it has no /live, which a relay of this version has";
  if (answer.status >= 300 && answer.status < 400)
    return says + " and redirects to " + AsText(answer.Header("location").substr(0, 200)) +
           "; give that address with --url, if it is the relay's";
  if (answer.status != 200) return says + ": " + FirstLine(answer.body);
  const std::string_view type = answer.Header("content-type");
  if (!type.starts_with(content_type))
    return "the program that answers at " + origin + " is not a weir relay (" + AsText(type.substr(0, 60)) + ")";
  return "";
}

HttpCall FeedFollower::CallFor(const Attachment& attachment, const char* path, const std::stop_token& stop) const {
  HttpCall call;
  call.path = path;
  if (!attachment.token.empty()) call.headers = {{"Authorization", "Bearer " + attachment.token}};
  call.timeout = parts_.times.silence;
  call.stop = stop;
  call.max_answer_bytes = kMostAnswer;
  call.verify = !attachment.is_own;
  return call;
}

Status FeedFollower::Begin() { return AskOnce(Watched::Link::kLive, "", {}); }

void FeedFollower::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  pthread_setname_np(thread_.native_handle(), "weir-top");
}

void FeedFollower::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

Watched FeedFollower::Now() const {
  const MutexLock lock(mutex_);
  return watched_;
}

void FeedFollower::Run(const std::stop_token& stop) {
  int silent = 0;  // attempts in a row without a second event, although the relay answers polls
  std::string why;
  while (!stop.stop_requested()) {
    bool heard = false;
    const bool follows = silent < kMostSilent || silent % kTryAgainEvery == 0;
    if (follows) why = Follow(stop, &heard);
    if (stop.stop_requested()) return;
    if (heard) {
      silent = 0;
      Lose(why);
    } else {
      const bool polls = silent + 1 >= kMostSilent;
      const Status asked = AskOnce(polls ? Watched::Link::kPolled : Watched::Link::kLive, polls ? why : "", stop);
      silent = asked.ok() ? silent + 1 : 0;
      if (!asked.ok()) Lose(follows ? why : asked.message());
    }
    Wait(silent < kMostSilent ? parts_.times.again : parts_.times.silence, stop);
  }
}

Status FeedFollower::AskOnce(Watched::Link link, const std::string& problem, const std::stop_token& stop) {
  const Result<Attachment> found = parts_.find();
  if (!found.ok()) return found.status();
  const HttpAnswer answer = CallHttp(found.value().url, CallFor(found.value(), "/live/state", stop));
  const std::string refusal = ProblemOf(answer, found.value(), "application/json");
  if (!refusal.empty()) return Status::Error(refusal);
  return Take(answer.body, found.value(), link, problem);
}

std::string FeedFollower::Follow(const std::stop_token& stop, bool* heard) {
  const Result<Attachment> found = parts_.find();
  if (!found.ok()) return found.status().message();
  const Attachment& attachment = found.value();
  TimePoint last = parts_.clock.Now();
  std::string problem;
  bool first = true;
  EventStreamReader reader([&](const std::string&, const std::string& json) {
    const Status taken = Take(json, attachment, Watched::Link::kLive, "");
    if (!taken.ok()) problem = taken.message();
    if (taken.ok() && !std::exchange(first, false)) *heard = true;
    last = parts_.clock.Now();
  });
  HttpCall call = CallFor(attachment, "/live/events", stop);
  call.on_piece = [&](const HttpAnswer& head, std::string_view piece) {
    problem = ProblemOf(head, attachment, "text/event-stream");
    if (!problem.empty()) return false;
    if (const Status status = reader.Take(piece); !status.ok()) problem = status.message();
    // Only a whole event ends the silence; comments and pieces of an event do not.
    return problem.empty() && parts_.clock.Now() - last < parts_.times.silence;
  };
  const HttpAnswer answer = CallHttp(attachment.url, call);
  return problem.empty() ? ProblemOf(answer, attachment, "text/event-stream") : problem;
}

Status FeedFollower::Take(const std::string& json, const Attachment& attachment, Watched::Link link,
                          const std::string& problem) {
  Result<FeedState> state = ReadFeedState(json);
  if (!state.ok()) return state.status();
  {
    const MutexLock lock(mutex_);
    Join(watched_.state, state.value(), &watched_.history);
    watched_.state = std::move(state).value();
    watched_.state.history.clear();
    watched_.link = link;
    watched_.problem = problem;
    watched_.origin = attachment.url.Origin();
    watched_.heard = parts_.clock.Now();
  }
  if (parts_.on_change) parts_.on_change();
  return {};
}

void FeedFollower::Lose(const std::string& problem) {
  {
    const MutexLock lock(mutex_);
    watched_.link = refused_ ? Watched::Link::kRefused : Watched::Link::kLost;
    watched_.problem = problem;
  }
  if (parts_.on_change) parts_.on_change();
}

void FeedFollower::Wait(std::chrono::milliseconds time, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  stopped_.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace weir
