#include "bench/relay/subscriber.h"

#include "bench/relay/replies.h"

namespace weir {

Status Subscribers::Connect(const Endpoint& endpoint, size_t connections, Loop* loop) {
  const std::string author(PlainField(events_.json(0), "pubkey"));
  for (size_t i = 0; i < connections; ++i) {
    auto connection = ClientSocket::Open(endpoint);
    if (!connection.ok()) return connection.status();
    connections_.push_back(std::move(connection).value());
    if (Status s = loop->Watch(connections_.back().get(), this); !s.ok()) return s;
    connections_.back()->SendText("[\"REQ\",\"live\",{\"kinds\":[1],\"authors\":[\"" + author + "\"]}]");
  }
  return loop->Run([this] { return ready_ == connections_.size(); }, "the EOSE of live subscriptions");
}

Status Subscribers::AwaitDeliveries(Loop* loop) const {
  return loop->RunFor(std::chrono::seconds(5), [this] { return received_ >= expected(); });
}

void Subscribers::OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) {
  const Reply reply = ParseReply(message);
  if (reply.kind == ReplyKind::kEose) ++ready_;
  if (reply.kind != ReplyKind::kEvent) return;
  const std::optional<size_t> event = events_.FindHex(IdOfEvent(reply.event));
  if (!event || publisher_.released_at(*event) == TimePoint{}) return;
  std::vector<bool>& seen = seen_[&connection];
  seen.resize(events_.size());
  if (seen[*event]) {
    ++repeated_;
    return;
  }
  seen[*event] = true;
  ++received_;
  latency_->Record(now - publisher_.released_at(*event));
}

}  // namespace weir
