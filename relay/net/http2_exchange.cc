#include "relay/net/http2_exchange.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <utility>
#include <variant>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/net/http_message.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/session.h"

namespace weir {
namespace {

constexpr size_t kHandedBytes = 4096;
// The capacity that the answer's buffer keeps for the next piece when all of it was sent.
constexpr size_t kKeptBytes = 4096;

}  // namespace

Http2Exchange::Http2Exchange(const Http2ExchangeParts& parts, HttpRequest head)
    : parts_(parts),
      core_(parts.session.thread().core()),
      counters_(parts.session.thread().counters()),
      head_(std::move(head)),
      tasks_(parts.session, [this](const std::function<void()>& task) { Call(task); }),
      waiters_([this](std::function<void()> callback) { tasks_.Post(std::move(callback)); }),
      last_heard_(parts.session.thread().Now()),
      last_taken_(last_heard_) {
  parts_.answer.is_whole = false;
}

Http2Exchange::~Http2Exchange() {
  parts_.all.pending -= pending_bytes();
  parts_.all.held -= held_.size();
}

boost::asio::any_io_executor Http2Exchange::executor() { return parts_.session.thread().context().get_executor(); }

std::optional<HttpResponse> Http2Exchange::Ask(const HttpStreamFactory& factory) {
  std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>> taken;
  try {
    taken = factory(head_, *this);
  } catch (const std::exception& e) {
    OnFault(e.what());
    return std::nullopt;
  }
  if (auto* refusal = std::get_if<HttpResponse>(&taken)) {
    parts_.answer.is_whole = true;
    return std::move(*refusal);
  }
  handler_ = std::get<std::shared_ptr<HttpStreamHandler>>(std::move(taken));
  if (!over_ && status_ == 0 && head_.Header("expect") == "100-continue") parts_.frames.Continue(parts_.id);
  if (core_.going.load(std::memory_order_relaxed)) OnShutdown();
  return std::nullopt;
}

void Http2Exchange::Begin(const HttpResponse& head) {
  if (over_) return;
  assert(status_ == 0);
  status_ = head.status;
  const bool with_body = head_.method != "HEAD" && HasBody(head);
  parts_.frames.Answer(parts_.id, head, with_body ? &parts_.answer : nullptr, true);
  parts_.session.FlushSoon();
  if (!with_body) return EndAnswer();
  Append(head.body);
}

void Http2Exchange::Write(std::string_view piece) {
  if (over_) return;
  assert(status_ != 0);
  // Checks the bytes that wait already, without this piece, so a handler that checks pending_bytes() is never too slow.
  EndIfTooSlow();
  if (!over_) Append(piece);
}

void Http2Exchange::Append(std::string_view piece) {
  if (piece.empty()) return;
  Http2Body& answer = parts_.answer;
  if (answer.rest() == 0) last_taken_ = parts_.session.thread().Now();
  // Erases only if the sent part is the larger one, so that each byte is moved at most once.
  if (answer.sent > answer.rest()) {
    answer.bytes.erase(0, answer.sent);
    answer.sent = 0;
  }
  answer.bytes += piece;
  parts_.all.pending += piece.size();
  parts_.frames.GoOn(parts_.id);
  parts_.session.NotePending();
  parts_.session.FlushSoon();
}

void Http2Exchange::OnSent(size_t bytes) {
  Http2Body& answer = parts_.answer;
  parts_.all.pending -= bytes;
  last_taken_ = parts_.session.thread().Now();
  if (answer.rest() == 0) {
    answer.sent = 0;
    answer.bytes.clear();
    if (answer.bytes.capacity() > kKeptBytes) answer.bytes.shrink_to_fit();
  }
  waiters_.OnSent(pending_bytes());
}

void Http2Exchange::EndWith(HttpFields trailers) {
  if (over_) return;
  assert(status_ != 0);
  parts_.answer.trailers = std::move(trailers);
  parts_.answer.is_whole = true;
  parts_.frames.GoOn(parts_.id);
  EndAnswer();
}

void Http2Exchange::EndAnswer() {
  over_ = true;
  cause_ = "answered " + std::to_string(status_);
  tasks_.End();
  parts_.session.FlushSoon();
}

void Http2Exchange::Abort(std::string cause) {
  if (over_) return;
  if (const auto line = core_.logs.fault.Take(parts_.session.thread().Now())) {
    spdlog::warn("{}: {} {} broken off: {}{}", head_.address, Printable(head_.method), Printable(head_.path),
                 AsText(cause), line->Suffix());
  }
  Drop(std::move(cause), Http2Code::kInternal);
}

void Http2Exchange::Drop(std::string cause, Http2Code code) {
  if (!over_) cause_ = std::move(cause);
  over_ = true;
  tasks_.End();
  if (std::exchange(reset_, true)) return;
  parts_.frames.Reset(parts_.id, code);
  parts_.session.FlushSoon();
}

void Http2Exchange::OnBody(std::string_view piece) {
  last_heard_ = parts_.session.thread().Now();
  if (pauses_ == 0 && held_.empty()) return HandOver(piece);
  held_ += piece;
  parts_.all.held += piece.size();
}

void Http2Exchange::HandOver(std::string_view piece) {
  Call([&] { handler_->OnBody(piece); });
  if (!reset_) parts_.frames.OpenWindow(parts_.id, piece.size());
}

void Http2Exchange::OnBodyEnd() {
  body_ended_ = true;
  HandOverHeld();
}

void Http2Exchange::ResumeBody() {
  if (pauses_ > 0) --pauses_;
  if (pauses_ > 0) return;
  last_heard_ = parts_.session.thread().Now();  // the pause does not count as silence of the client
  tasks_.Post([this] { HandOverHeld(); });
}

void Http2Exchange::HandOverHeld() {
  if (over_ || pauses_ > 0) return;
  // Passes the waiting body to the handler in pieces, so that the handler can pause the body between two of them.
  size_t handed = 0;
  while (handed < held_.size() && !over_ && pauses_ == 0) {
    const std::string piece = held_.substr(handed, kHandedBytes);
    HandOver(piece);
    handed += piece.size();
  }
  held_.erase(0, handed);
  parts_.all.held -= handed;
  parts_.session.FlushSoon();
  if (over_ || pauses_ > 0 || !body_ended_ || std::exchange(told_body_end_, true)) return;
  Call([this] { handler_->OnBodyEnd(); });
}

void Http2Exchange::DropHeld() {
  parts_.frames.OpenWindow(parts_.id, held_.size());
  parts_.all.held -= held_.size();
  held_.clear();
}

void Http2Exchange::EndIfTooSlow() {
  if (pending_bytes() <= kAlwaysTaken) return;
  if (pending_bytes() > core_.settings.max_pending_bytes || parts_.session.OverShare()) EndTooSlow();
}

void Http2Exchange::EndTooSlow() {
  counters_.too_slow.Add(1);
  if (const auto line = core_.logs.too_slow.Take(parts_.session.thread().Now())) {
    spdlog::info("{}: {} {} reset, too slow: {} bytes waited for the client{}", head_.address, Printable(head_.method),
                 Printable(head_.path), pending_bytes(), line->Suffix());
  }
  Drop("too slow", Http2Code::kCalm);
}

void Http2Exchange::OnTick(SteadyTime now) {
  if (!over_ && tasks_.has_lost_one()) return OnFault(kTaskLost);
  const auto longest = 2 * core_.settings.ping_interval;
  if (pending_bytes() > 0 && now > last_taken_ + longest) return EndTooSlow();
  if (over_ || body_ended_ || pauses_ > 0 || now <= last_heard_ + longest) return;
  counters_.http_errors.Add(1);
  constexpr std::string_view kWhat = "no more of the body in time";
  if (status_ != 0) return Drop(std::string(kWhat), Http2Code::kCancel);
  AnswerWhole({.status = 408, .body = "the body did not come in time\n"});
}

void Http2Exchange::OnTooMuchHeld() {
  if (over_ || held_.empty()) return;
  counters_.http_errors.Add(1);
  if (status_ != 0) return Drop("its address holds too much", Http2Code::kCalm);
  AnswerWhole(AddressHoldsTooMuch());
}

void Http2Exchange::OnShutdown() {
  if (!over_ && handler_ && !std::exchange(told_to_finish_, true)) Call([this] { handler_->OnShutdown(); });
}

void Http2Exchange::OnFault(std::string_view what) {
  HttpResponse answer = AnswerToFault(head_, what);
  if (over_) return;
  if (status_ != 0) return Drop("a fault in the server", Http2Code::kInternal);
  AnswerWhole(std::move(answer));
}

// Sends the whole answer in place of the handler.
void Http2Exchange::AnswerWhole(HttpResponse response) {
  response = core_.router.Worded(head_, std::move(response));
  status_ = response.status;
  Http2Body& answer = parts_.answer;
  answer.is_whole = true;
  answer.bytes = std::move(response.body);
  answer.trailers = std::move(response.trailers);
  parts_.all.pending += answer.bytes.size();
  response.body = answer.bytes;
  const bool with_body = head_.method != "HEAD" && HasBody(response) && !answer.bytes.empty();
  parts_.frames.Answer(parts_.id, response, with_body ? &answer : nullptr);
  EndAnswer();
}

void Http2Exchange::OnEnd(std::string_view cause) {
  const std::string why = cause_.empty() ? std::string(cause) : cause_;
  spdlog::debug("{}: {} {} ended: {}", head_.address, Printable(head_.method), Printable(head_.path), why);
  over_ = true;
  tasks_.End();
  waiters_.Clear();
  if (handler_) handler_->OnEnd(why);
}

}  // namespace weir
