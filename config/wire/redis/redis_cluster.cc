#include "config/wire/redis/redis_cluster.h"

#include <algorithm>
#include <utility>

#include "config/wire/redis/redis_slot.h"

namespace weir {

namespace {

constexpr Duration kLongestPause = std::chrono::seconds(1);  // between two searches while a node does not answer
constexpr Duration kTryAgainPause = std::chrono::milliseconds(20);
constexpr Duration kKeepUnused = std::chrono::seconds(10);  // how long a node without slots stays after its last use

}  // namespace

std::unique_ptr<RedisTopology> MakeClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                   const RedisServerOptions& servers) {
  return std::make_unique<RedisClusterTopology>(loop, endpoint, servers);
}

RedisClusterTopology::RedisClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                           const RedisServerOptions& servers)
    : loop_(loop),
      seeds_(endpoint.addresses),
      options_(servers),
      by_slot_(kRedisSlots),
      for_map_(loop),
      for_fresh_(loop),
      for_moved_(loop),
      moved_timer_(loop),
      pause_(servers.retry_first),
      ask_timer_(loop) {
  AskForMap();
}

RedisClusterTopology::~RedisClusterTopology() { *alive_ = false; }

void RedisClusterTopology::Send(RedisCallPtr call) {
  if (!known_) {
    if (problem_.empty()) return for_map_.Add(std::move(call), "no node of the cluster has answered yet");
    return RedisCall::Answer(std::move(call), {.problem = problem_});
  }
  Node* const node = by_slot_[call->slot];
  if (node != nullptr) return node->server->Send(std::move(call));
  AskForMapSoon();
  const std::string problem = "slot " + std::to_string(call->slot) + " of the cluster has no server";
  RedisCall::Answer(std::move(call), {.problem = problem});
}

void RedisClusterTopology::FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) {
  auto call = std::make_unique<RedisCall>();
  call->deadline = deadline;
  call->done = [this, done = std::move(done)](const RedisOutcome& outcome) {
    if (!outcome.problem.empty()) return done(Status::Error(outcome.problem));
    Servers masters;
    for (const auto& [address, node] : nodes_) {
      if (node.slots > 0) masters.push_back(node.server);
    }
    done(std::move(masters));
  };
  for_fresh_.Add(std::move(call), "no node of the cluster says who has its slots");
  AskForMap();
}

RedisTopologyHealth RedisClusterTopology::Health() const {
  using State = RedisBreaker::State;
  RedisTopologyHealth health = gone_;
  if (!known_ && !problem_.empty()) {
    health.breaker = State::kOpen;
    health.problem = problem_;
  }
  for (const auto& [address, node] : nodes_) {
    health.reconnects += node.server->reconnects();
    health.writes += node.server->writes();
    if (node.slots == 0) continue;
    health.breaker = std::max(health.breaker, node.server->breaker());
    if (node.server->breaker() == State::kClosed) health.some_answer = true;
    if (health.warning.empty()) health.warning = node.server->warning();
    if (health.problem.empty() && node.server->breaker() != State::kClosed) health.problem = node.server->problem();
  }
  if (known_ && std::ranges::find(by_slot_, static_cast<Node*>(nullptr)) != by_slot_.end()) {
    health.breaker = State::kOpen;
    if (health.problem.empty()) health.problem = "a part of the cluster's slots has no server";
  }
  return health;
}

// --- Outcomes of calls

void RedisClusterTopology::OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
  if (const auto redirection = ParseRedirection(TextOf(error), server.address())) {
    if (!redirection->ask) {
      GiveSlot(redirection->slot, &NodeAt(redirection->to));
      AskForMapSoon();
    }
    if (call->sent_again >= kRedirections) return;
    ++call->sent_again;
    call->script_loads = 0;
    call->asking = redirection->ask;
    Node& node = NodeAt(redirection->to);
    node.used = loop_.Now();
    node.server->Send(std::move(call));
  } else if (IsError(error, "TRYAGAIN") || IsKeyOnItsWay(error)) {
    call->asking = false;
    // Only MOVED and ASK are limited by number; here the pause and the deadline limit the calls.
    call->sent_again = call->script_loads = 0;
    for_moved_.Add(std::move(call), Describe(server.address()) + ": " + std::string(TextOf(error)));
    if (moved_timer_.armed()) return;
    moved_timer_.After(kTryAgainPause, [this] {
      for (RedisCallPtr& waiting : for_moved_.TakeAll()) Send(std::move(waiting));
    });
  } else if (IsError(error, "CLUSTERDOWN")) {
    AskForMapSoon();
  }
}

void RedisClusterTopology::OnUp(RedisServer&) {
  if (!known_ && !asking_) AskForMapSoon();
}

void RedisClusterTopology::OnDown(RedisServer& server, const std::string&) {
  const bool has_slots = std::ranges::any_of(
      nodes_, [&](const auto& node) { return node.second.server.get() == &server && node.second.slots > 0; });
  if (has_slots) return AskForMapSoon();
  DropUnused();
}

// --- The nodes

RedisClusterTopology::Node& RedisClusterTopology::NodeAt(const RedisAddress& address) {
  Node& node = nodes_[{address.host, address.port}];
  if (node.server == nullptr) {
    node.server =
        std::make_shared<RedisServer>(loop_, std::vector{address}, options_, static_cast<RedisServer::Listener*>(this));
    node.used = loop_.Now();
  }
  return node;
}

void RedisClusterTopology::GiveSlot(size_t slot, Node* node) {
  Node* const before = std::exchange(by_slot_[slot], node);
  if (node != nullptr) ++node->slots;
  if (before != nullptr && --before->slots == 0) before->used = loop_.Now();
}

void RedisClusterTopology::DropUnused() {
  const TimePoint long_ago = loop_.Now() - kKeepUnused;
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    const auto next = std::next(node);
    if (node->second.slots == 0 && node->second.used < long_ago) Retire(node);
    node = next;
  }
}

void RedisClusterTopology::Retire(Nodes::iterator node) {
  const RedisServer& server = *node->second.server;
  gone_.reconnects += server.reconnects();
  gone_.writes += server.writes();
  loop_.DropAtEndOfTurn(std::move(node->second.server));
  nodes_.erase(node);
}

bool RedisClusterTopology::SomeAreAway() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return node.second.slots > 0 && node.second.server->breaker() != RedisBreaker::State::kClosed;
  });
}

// --- The map of the slots

void RedisClusterTopology::AskForMapSoon() {
  if (asking_) {
    ask_again_ = true;
  } else {
    ask_timer_.At(std::max(loop_.Now(), asked_at_ + options_.retry_first), [this] { AskForMap(); });
  }
}

void RedisClusterTopology::AskForMap() {
  if (asking_) return;
  asking_ = true;
  ask_again_ = false;
  asked_at_ = loop_.Now();
  ask_timer_.Cancel();
  ask_problem_.clear();
  // Asks first the nodes that answer, then the other nodes that have slots, then the nodes of the URL.
  for (const bool well : {true, false}) {
    for (const auto& [address, node] : nodes_) {
      const bool is_well = node.server->connected() && node.server->breaker() == RedisBreaker::State::kClosed;
      if (node.slots > 0 && is_well == well) to_ask_.push_back({.host = address.first, .port = address.second});
    }
    if (!well || to_ask_.empty()) continue;
    const auto first = static_cast<std::ptrdiff_t>(turn_++ % to_ask_.size());
    std::rotate(to_ask_.begin(), to_ask_.begin() + first, to_ask_.end());
  }
  for (const RedisAddress& seed : seeds_) {
    if (std::ranges::find(to_ask_, seed) == to_ask_.end()) to_ask_.push_back(seed);
  }
  AskNext();
}

void RedisClusterTopology::AskNext() {
  if (to_ask_.empty()) return GiveUp();
  const RedisAddress address = std::move(to_ask_.front());
  to_ask_.pop_front();
  auto call = std::make_unique<RedisCall>();
  call->command = FormatRedisCommand({"CLUSTER", "SLOTS"});
  call->deadline = loop_.Now() + options_.timeout;
  call->done = [this, address, alive = alive_](const RedisOutcome& outcome) {
    if (*alive) OnMap(address, outcome);
  };
  Node& node = NodeAt(address);
  node.used = loop_.Now();
  node.server->Send(std::move(call));
}

void RedisClusterTopology::OnMap(const RedisAddress& asked, const RedisOutcome& outcome) {
  if (!outcome.answered()) {
    ask_problem_ = outcome.problem;
    return AskNext();
  }
  const Result<std::vector<RedisSlotRange>> ranges = ParseClusterSlots(*outcome.reply, asked);
  if (!ranges.ok()) {
    ask_problem_ = Describe(asked) + ": " + ranges.status().message();
    return AskNext();
  }
  Adopt(ranges.value());
}

void RedisClusterTopology::Adopt(const std::vector<RedisSlotRange>& ranges) {
  asking_ = false;
  to_ask_.clear();
  std::vector<Node*> by_slot(kRedisSlots);
  for (const RedisSlotRange& range : ranges) {
    Node* const node = &NodeAt(range.master);
    for (size_t slot = range.first; slot <= range.last; ++slot) by_slot[slot] = node;
  }
  for (size_t slot = 0; slot < kRedisSlots; ++slot) GiveSlot(slot, by_slot[slot]);
  known_ = true;
  problem_.clear();
  DropUnused();
  for (RedisCallPtr& call : for_map_.TakeAll()) Send(std::move(call));
  for_fresh_.AnswerAll("");
  if (SomeAreAway()) {
    ask_timer_.After(pause_, [this] { AskForMap(); });
    pause_ = std::min(2 * pause_, kLongestPause);
  } else {
    pause_ = options_.retry_first;
    if (ask_again_) AskForMapSoon();
  }
}

void RedisClusterTopology::GiveUp() {
  asking_ = false;
  ask_timer_.After(pause_, [this] { AskForMap(); });
  pause_ = std::min(2 * pause_, kLongestPause);
  const std::string problem = "no node of the cluster says who has its slots: " + ask_problem_;
  if (!known_) problem_ = problem;
  for_map_.AnswerAll(problem);
  for_fresh_.AnswerAll(problem);
}

}  // namespace weir
