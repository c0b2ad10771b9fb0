#include "config/wire/redis/redis_sentinel.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace weir {

namespace {

constexpr Duration kAskEvery = std::chrono::seconds(1);
constexpr size_t kMostSentinels = 64;

std::optional<RedisAddress> ToAddress(const redisReply& host, const redisReply& port) {
  RedisAddress address;
  if (host.type != REDIS_REPLY_STRING || host.len == 0 || port.type != REDIS_REPLY_STRING) return std::nullopt;
  address.host.assign(host.str, host.len);
  const auto [end, error] = std::from_chars(port.str, port.str + port.len, address.port);
  if (error != std::errc() || end != port.str + port.len || address.port == 0) return std::nullopt;
  return address;
}

// Returns the value of a field in a list in which names and values alternate; null if there is no such field.
const redisReply* ValueOf(const redisReply& fields, std::string_view name) {
  for (size_t i = 0; i + 1 < fields.elements; i += 2) {
    const redisReply& field = *fields.element[i];
    if (field.type == REDIS_REPLY_STRING && TextOf(field) == name) return fields.element[i + 1];
  }
  return nullptr;
}

void AddOnce(std::vector<RedisAddress>* list, const RedisAddress& address) {
  if (std::ranges::find(*list, address) == list->end() && list->size() < kMostSentinels) list->push_back(address);
}

bool SaysMaster(const redisReply& role) {
  return role.type == REDIS_REPLY_ARRAY && role.elements > 0 && role.element[0]->type == REDIS_REPLY_STRING &&
         TextOf(*role.element[0]) == "master";
}

}  // namespace

std::unique_ptr<RedisTopology> MakeSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                    const RedisServerOptions& servers) {
  return std::make_unique<RedisSentinelTopology>(loop, endpoint, servers);
}

RedisSentinelTopology::RedisSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                             const RedisServerOptions& servers)
    : loop_(loop),
      name_(endpoint.master),
      options_(servers),
      to_sentinels_(servers.connection),
      user_(endpoint.user),
      password_(endpoint.password),
      seeds_(endpoint.addresses),
      sentinels_(endpoint.addresses),
      waiting_(loop),
      pause_(servers.retry_first),
      search_timer_(loop) {
  to_sentinels_.user.clear();
  to_sentinels_.password.clear();
  to_sentinels_.database = 0;
  to_sentinels_.prelude.clear();
  to_sentinels_.checks_server = false;
  Search();
}

RedisSentinelTopology::~RedisSentinelTopology() { *alive_ = false; }

void RedisSentinelTopology::Send(RedisCallPtr call) {
  if (master_ != nullptr) {
    if (call->command.empty()) return RedisCall::Answer(std::move(call), {});  // a call of FindMasters
    return master_->Send(std::move(call));
  }
  if (problem_.empty()) return waiting_.Add(std::move(call), "no sentinel has named a master yet");
  RedisCall::Answer(std::move(call), {.problem = problem_});
}

void RedisSentinelTopology::FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) {
  auto call = std::make_unique<RedisCall>();
  call->deadline = deadline;
  call->done = [this, done = std::move(done)](const RedisOutcome& outcome) {
    if (!outcome.problem.empty()) return done(Status::Error(outcome.problem));
    done(Servers{master_});
  };
  Send(std::move(call));
}

RedisTopologyHealth RedisSentinelTopology::Health() const {
  using State = RedisBreaker::State;
  RedisTopologyHealth health = gone_;
  if (master_ == nullptr) {
    health.breaker = problem_.empty() ? State::kClosed : State::kOpen;
    health.problem = problem_;
  } else {
    health.breaker = master_->breaker();
    health.reconnects += master_->reconnects();
    health.writes += master_->writes();
    health.warning = master_->warning();
    health.problem = master_->problem();
  }
  return health;
}

// --- The master

void RedisSentinelTopology::OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
  if (&server != master_.get() || !IsError(error, "READONLY")) return;
  SearchSoon();
  call->script_loads = 0;  // the next master may have none of the scripts
  waiting_.Add(std::move(call), Describe(server.address()) + ": " + std::string(TextOf(error)));
}

void RedisSentinelTopology::OnDown(RedisServer& server, const std::string&) {
  if (&server == master_.get()) SearchSoon();
}

void RedisSentinelTopology::AskRole(const RedisAddress& address) {
  std::shared_ptr<RedisServer> server = master_;
  if (master_ == nullptr || master_->address() != address) {
    candidate_ =
        std::make_shared<RedisServer>(loop_, std::vector{address}, options_, static_cast<RedisServer::Listener*>(this));
    server = candidate_;
  }
  auto call = std::make_unique<RedisCall>();
  call->command = FormatRedisCommand({"ROLE"});
  call->deadline = loop_.Now() + options_.connection.connect_timeout + options_.timeout;
  call->done = [this, address, alive = alive_](const RedisOutcome& outcome) {
    if (*alive) OnRole(address, outcome);
  };
  server->Send(std::move(call));
}

void RedisSentinelTopology::OnRole(const RedisAddress& address, const RedisOutcome& outcome) {
  if (outcome.answered() && SaysMaster(*outcome.reply)) return Adopt();
  if (candidate_ != nullptr) loop_.DropAtEndOfTurn(std::move(candidate_));
  no_masters_.push_back(address);
  if (!outcome.answered()) return AskNextSentinel(outcome.problem);
  const bool error = IsError(*outcome.reply);
  AskNextSentinel(Describe(address) + ": " + (error ? std::string(TextOf(*outcome.reply)) : "it is not a master"));
}

void RedisSentinelTopology::Adopt() {
  if (candidate_ != nullptr) {
    if (master_ != nullptr) {
      gone_.reconnects += master_->reconnects() + 1;  // 1 for the connection to the new master
      gone_.writes += master_->writes();
      loop_.DropAtEndOfTurn(std::move(master_));
    }
    master_ = std::exchange(candidate_, nullptr);
  }
  searching_ = false;
  problem_.clear();
  pause_ = options_.retry_first;
  search_timer_.After(kAskEvery, [this] { Search(); });
  if (search_again_) SearchSoon();
  for (RedisCallPtr& call : waiting_.TakeAll()) Send(std::move(call));
}

void RedisSentinelTopology::GiveUp() {
  searching_ = false;
  to_sentinels_.user.clear();
  to_sentinels_.password.clear();
  search_timer_.After(pause_, [this] { Search(); });
  pause_ = std::min(2 * pause_, kAskEvery);
  const std::string problem = "no sentinel names a master \"" + name_ + "\" that is one: " + search_problem_;
  if (master_ == nullptr) problem_ = problem;
  waiting_.AnswerAll(problem);
}

// --- The sentinels

void RedisSentinelTopology::SearchSoon() {
  if (searching_) {
    search_again_ = true;
  } else {
    search_timer_.At(std::max(loop_.Now(), searched_at_ + options_.retry_first), [this] { Search(); });
  }
}

void RedisSentinelTopology::Search() {
  searching_ = true;
  search_again_ = false;
  searched_at_ = loop_.Now();
  search_timer_.Cancel();
  sentinels_left_ = sentinels_.size();
  no_masters_.clear();
  AskSentinel();
}

void RedisSentinelTopology::AskSentinel() {
  if (sentinel_ == nullptr) {
    sentinel_ = std::make_shared<RedisConnection>(loop_, sentinels_[at_], to_sentinels_,
                                                  static_cast<RedisConnection::Listener*>(this));
  }
  // The reply to the first command may replace sentinel_, so `sentinel` keeps this connection for the second command.
  const std::shared_ptr<RedisConnection> sentinel = sentinel_;
  SendToSentinel(*sentinel, "GET-MASTER-ADDR-BY-NAME", &RedisSentinelTopology::OnMasterAddress);
  SendToSentinel(*sentinel, "SENTINELS", &RedisSentinelTopology::OnSentinels);
}

void RedisSentinelTopology::SendToSentinel(RedisConnection& sentinel, std::string_view what, Handler handler) {
  auto call = std::make_unique<RedisCall>();
  call->command = FormatRedisCommand({"SENTINEL", what, name_});
  call->deadline = loop_.Now() + options_.timeout;
  call->done = [this, handler, alive = alive_](const RedisOutcome& outcome) {
    if (*alive) (this->*handler)(outcome);
  };
  sentinel.Send(std::move(call));
}

void RedisSentinelTopology::AskNextSentinel(const std::string& problem) {
  search_problem_ = problem;
  if (sentinel_ != nullptr) loop_.DropAtEndOfTurn(std::move(sentinel_));
  at_ = (at_ + 1) % sentinels_.size();
  if (--sentinels_left_ == 0) return GiveUp();
  AskSentinel();
}

bool RedisSentinelTopology::LogInFromNowOn() {
  if (password_.empty() || !to_sentinels_.password.empty()) return false;
  to_sentinels_.user = user_;
  to_sentinels_.password = password_;
  if (sentinel_ != nullptr) loop_.DropAtEndOfTurn(std::move(sentinel_));
  return true;
}

void RedisSentinelTopology::OnMasterAddress(const RedisOutcome& outcome) {
  if (!outcome.answered()) {
    // Sentinel may accept a connection without a password, and ask for the password only here.
    const bool asks_for_password = outcome.problem.find("NOAUTH") != std::string::npos;
    return asks_for_password && LogInFromNowOn() ? AskSentinel() : AskNextSentinel(outcome.problem);
  }
  const redisReply& reply = *outcome.reply;
  const std::string sentinel = "sentinel " + Describe(sentinels_[at_]);
  if (IsError(reply)) return AskNextSentinel(sentinel + ": " + std::string(TextOf(reply)));
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return AskNextSentinel(sentinel + " does not know it");
  const std::optional<RedisAddress> address = ToAddress(*reply.element[0], *reply.element[1]);
  if (!address) return AskNextSentinel(sentinel + " names something that is no address");
  if (std::ranges::find(no_masters_, *address) != no_masters_.end()) return AskNextSentinel(search_problem_);
  AskRole(*address);
}

void RedisSentinelTopology::OnSentinels(const RedisOutcome& outcome) {
  if (!outcome.answered() || outcome.reply->type != REDIS_REPLY_ARRAY) return;
  const RedisAddress asked = sentinels_[at_];
  std::vector<RedisAddress> sentinels = seeds_;
  AddOnce(&sentinels, asked);
  for (size_t i = 0; i < outcome.reply->elements; ++i) {
    const redisReply* const host = ValueOf(*outcome.reply->element[i], "ip");
    const redisReply* const port = ValueOf(*outcome.reply->element[i], "port");
    if (host == nullptr || port == nullptr) continue;
    if (const auto address = ToAddress(*host, *port)) AddOnce(&sentinels, *address);
  }
  sentinels_ = std::move(sentinels);
  at_ = static_cast<size_t>(std::ranges::find(sentinels_, asked) - sentinels_.begin()) % sentinels_.size();
}

void RedisSentinelTopology::OnEnd(RedisConnection& sentinel, const std::string&) {
  if (&sentinel == sentinel_.get()) loop_.DropAtEndOfTurn(std::move(sentinel_));
}

}  // namespace weir
