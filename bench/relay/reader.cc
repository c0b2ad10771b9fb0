#include "bench/relay/reader.h"

#include <algorithm>
#include <cstdio>

#include "bench/relay/replies.h"

namespace weir {

Status Reader::Connect(const Endpoint& endpoint, Loop* loop) {
  auto connection = ClientSocket::Open(endpoint);
  if (!connection.ok()) return connection.status();
  connection_ = std::move(connection).value();
  loop_ = loop;
  return loop->Watch(connection_.get(), this);
}

void Reader::Start(Duration interval, Duration offset, std::optional<size_t> how_many) {
  interval_ = interval;
  how_many_ = how_many;
  loop_->At(Loop::Now() + offset, [this](TimePoint at) { Ask(at); });
}

void Reader::Stop() {
  stopped_ = true;
  if (!waiting_ || interval_ == Duration::zero()) return;
  const TimePoint now = Loop::Now();
  for (TimePoint due = due_ + interval_; due <= now; due += interval_) latency_->Record(now - due);
}

void Reader::Ask(TimePoint due) {
  if (stopped_ || (how_many_ && asked_ >= *how_many_)) return;
  const std::string& filter = filters_[asked_ % filters_.size()];
  ++asked_;
  waiting_ = true;
  due_ = due;
  connection_->SendText("[\"REQ\",\"" + Subscription() + "\"," + filter + "]");
}

void Reader::Ended(TimePoint now) {
  waiting_ = false;
  ++answered_;
  latency_->Record(now - due_);
  if (interval_ == Duration::zero()) {
    Ask(Loop::Now());
  } else {
    loop_->At(due_ + interval_, [this](TimePoint at) { Ask(at); });
  }
}

void Reader::OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) {
  const Reply reply = ParseReply(message);
  if (reply.kind == ReplyKind::kNotice)
    std::fprintf(stderr, "the relay says: %.*s\n", static_cast<int>(reply.text.size()), reply.text.data());
  if (!waiting_ || reply.subject != Subscription()) return;
  if (reply.kind == ReplyKind::kEvent) {
    uint64_t prefix = 0;
    if (IdPrefix(IdOfEvent(reply.event), &prefix)) digest_ += prefix;
    ++results_;
  } else if (reply.kind == ReplyKind::kEose) {
    connection.SendText("[\"CLOSE\",\"" + Subscription() + "\"]");
    Ended(now);
  } else if (reply.kind == ReplyKind::kClosed) {
    if (closed_++ == 0)
      std::fprintf(stderr, "the relay closed a REQ: %.*s\n", static_cast<int>(reply.text.size()), reply.text.data());
    Ended(now);
  }
}

}  // namespace weir
