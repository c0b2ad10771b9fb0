// Idle connections: measures the server's memory for each, and for one that holds a subscription, as the idle clients
// of a relay do.
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/relay/client_socket.h"
#include "bench/relay/load_scenario.h"
#include "bench/relay/loop.h"
#include "bench/relay/replies.h"
#include "bench/relay/server_usage.h"

namespace weir {
namespace {

class Crowd final : public Listener {
 public:
  explicit Crowd(const LoadPlan& plan) : loop_(plan.patience) {}

  Status Open(size_t how_many, const Endpoint& endpoint, const std::string& headers) {
    for (; how_many > 0; --how_many) {
      auto connection = ClientSocket::Open(endpoint, headers);
      if (!connection.ok())
        return Status::Error("connection " + std::to_string(connections_.size() + 1) + ": " +
                             connection.status().message());
      connections_.push_back(std::move(connection).value());
      if (Status s = loop_.Watch(connections_.back().get(), this); !s.ok()) return s;
    }
    return loop_.RunFor(kSettle);
  }

  // Subscribes to an author who publishes nothing.
  Status Subscribe() {
    const std::string nobody(64, '0');
    for (const auto& connection : connections_)
      connection->SendText("[\"REQ\",\"idle\",{\"kinds\":[1],\"authors\":[\"" + nobody + "\"]}]");
    if (Status s = loop_.Run([this] { return ready_ == connections_.size(); }, "the EOSE of idle subscriptions");
        !s.ok())
      return s;
    return loop_.RunFor(kSettle);
  }

  void OnMessage(ClientSocket&, std::string_view message, TimePoint) override {
    if (ParseReply(message).kind == ReplyKind::kEose) ++ready_;
  }

 private:
  static constexpr Duration kSettle = std::chrono::seconds(1);

  Loop loop_;
  std::vector<std::unique_ptr<ClientSocket>> connections_;
  size_t ready_ = 0;
};

class Idle final : public LoadScenario {
 public:
  std::string_view name() const override { return "idle"; }
  std::string_view meaning() const override { return "connections that say nothing: memory of each"; }

  void AddOptions(CommandLine line) override {
    line.Add("--idle-connections", &count_, "connections").ShowDefault().Within(1, 100'000);
    line.Add("--offer-deflate", &offer_deflate_,
             "offer permessage-deflate, as browsers do; then without subscriptions, for nothing is inflated here");
  }

  Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) override {
    if (target.pid <= 0) return Status::Error("idle needs --pid or --server: it measures the server's memory");
    const size_t count = plan.Scaled(count_);
    const std::string headers = offer_deflate_ ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "";
    Crowd crowd(plan);
    if (Status s = crowd.Open(kFirst, target.endpoint, headers); !s.ok()) return s;
    const auto before = CountMemory(target.pid);
    if (!before.ok()) return before.status();
    if (Status s = crowd.Open(count, target.endpoint, headers); !s.ok()) return s;
    const auto silent = CountMemory(target.pid);
    if (!silent.ok()) return silent.status();
    const auto kilobytes_each = [&](double megabytes, double than) {
      return (megabytes - than) * 1e3 / static_cast<double>(count);
    };
    const ServerMemory& base = before.value();
    LoadFigures figures{
        {"connections", "", static_cast<double>(count)},
        {"resident before", "MB", base.resident_mb},
        {"resident per connection", "KB", kilobytes_each(silent.value().resident_mb, base.resident_mb)},
        {"anonymous per connection", "KB", kilobytes_each(silent.value().anonymous_mb, base.anonymous_mb)}};
    if (offer_deflate_) return figures;
    if (Status s = crowd.Subscribe(); !s.ok()) return s;
    const auto subscribed = CountMemory(target.pid);
    if (!subscribed.ok()) return subscribed.status();
    figures.push_back({"resident per connection with a subscription", "KB",
                       kilobytes_each(subscribed.value().resident_mb, base.resident_mb)});
    return figures;
  }

 private:
  static constexpr size_t kFirst = 10;  // code and tables that the first connections bring in are not theirs

  size_t count_ = 2000;
  bool offer_deflate_ = false;
};

}  // namespace

std::unique_ptr<LoadScenario> MakeIdle() { return std::make_unique<Idle>(); }

}  // namespace weir
