#include "bench/relay/publisher.h"

#include <algorithm>
#include <cstdio>

#include "bench/relay/replies.h"

namespace weir {

Publisher::Publisher(const EventSet& events)
    : events_(events), released_at_(events.size()), is_answered_(events.size()) {}

Status Publisher::Connect(const std::vector<Endpoint>& endpoints, Loop* loop) {
  std::vector<FrameLane> lanes = MakeLanes(events_, endpoints.size());
  for (size_t i = 0; i < endpoints.size(); ++i) {
    auto connection = ClientSocket::Open(endpoints[i]);
    if (!connection.ok()) return connection.status();
    lines_.push_back({.connection = std::move(connection).value(), .lane = std::move(lanes[i])});
    if (Status s = loop->Watch(lines_.back().connection.get(), this); !s.ok()) return s;
  }
  return Status();
}

void Publisher::Leave(Loop* loop) {
  for (Line& line : lines_) loop->Forget(line.connection.get());
  lines_.clear();
}

void Publisher::StartClosedLoop(size_t window) {
  window_ = window;
  const TimePoint now = first_release_ = Loop::Now();
  for (Line& line : lines_) Release(line, window, now);
}

void Publisher::StartPaced(double per_second, Loop* loop) {
  per_second_ = per_second;
  loop_ = loop;
  first_release_ = Loop::Now();
  loop_->At(first_release_, [this](TimePoint at) { ReleaseOnTime(at); });
}

// Counts each time from the first one, so that delays do not add up.
void Publisher::ReleaseOnTime(TimePoint at) {
  if (stopped_ || released_ == events_.size()) return;
  Release(lines_[released_ % lines_.size()], 1, at);
  const Duration from_first = FromSeconds(static_cast<double>(released_) / per_second_);
  loop_->At(first_release_ + from_first, [this](TimePoint next) { ReleaseOnTime(next); });
}

void Publisher::Release(Line& line, size_t count, TimePoint at) {
  const size_t end = std::min(line.lane.size(), line.released + count);
  if (stopped_ || end == line.released) return;
  line.connection->Lend(line.lane.frames(line.released, end));
  for (; line.released < end; ++line.released, ++released_) released_at_[line.lane.event(line.released)] = at;
}

Publisher::Line& Publisher::LineOf(const ClientSocket& connection) {
  return *std::find_if(lines_.begin(), lines_.end(),
                       [&](const Line& line) { return line.connection.get() == &connection; });
}

void Publisher::OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) {
  const Reply reply = ParseReply(message);
  if (reply.kind == ReplyKind::kNotice) {
    if (refused_["notice"]++ == 0)
      std::fprintf(stderr, "the relay says: %.*s\n", static_cast<int>(reply.text.size()), reply.text.data());
    return;
  }
  if (reply.kind != ReplyKind::kOk) return;
  const std::optional<size_t> event = events_.FindHex(reply.subject);
  if (!event || is_answered_[*event] || released_at_[*event] == TimePoint{}) return;
  is_answered_[*event] = true;
  ++answered_;
  ++LineOf(connection).answered_now;
  last_answer_ = now;
  const std::string_view reason = ReasonPrefix(reply.text);
  if (reply.accepted && reason != "duplicate") {
    ++accepted_;
    accepted_bytes_ += events_.json(*event).size();
    latency_->Record(now - released_at_[*event]);
  } else {
    ++refused_[std::string(reason)];
  }
}

void Publisher::OnMessagesTaken(ClientSocket& connection, TimePoint) {
  Line& line = LineOf(connection);
  if (window_ > 0) Release(line, line.answered_now, Loop::Now());
  line.answered_now = 0;
}

Status Publisher::AwaitAnswers(Loop* loop) const {
  Status status =
      loop->Run([this] { return answered_ == (stopped_ ? released_ : events_.size()); }, "the OKs of all events");
  if (status.ok()) return status;
  return Status::Error(status.message() + " (" + std::to_string(answered_) + " of " + std::to_string(events_.size()) +
                       " events were answered)");
}

}  // namespace weir
