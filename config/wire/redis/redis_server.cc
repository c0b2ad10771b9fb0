#include "config/wire/redis/redis_server.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/wire/redis/redis_waiting_calls.h"

namespace weir {
namespace {

// Errors that say that the call was not executed, so that another server may execute it.
constexpr std::array<std::string_view, 7> kRefusals = {"MOVED",    "ASK",        "READONLY", "CLUSTERDOWN",
                                                       "TRYAGAIN", "MASTERDOWN", "LOADING"};
// Errors that say that the server refuses all writes for now.
constexpr std::array<std::string_view, 4> kNothingIsWritten = {"OOM", "MISCONF", "NOREPLICAS", "READONLY"};
// Errors of one key or command, which do not mean that the server fails.
constexpr std::array<std::string_view, 2> kOfTheCall = {"ERR", "WRONGTYPE"};
// The most script loads for one call at one server, so that a server that keeps losing its scripts is not asked
// forever.
constexpr uint8_t kMostScriptLoads = 2;

bool IsOneOf(const redisReply& reply, std::span<const std::string_view> kinds) {
  return std::ranges::any_of(kinds, [&](std::string_view kind) { return IsError(reply, kind); });
}

}  // namespace

RedisServer::RedisServer(RedisLoop& loop, std::vector<RedisAddress> addresses, const RedisServerOptions& options,
                         Listener* listener)
    : loop_(loop),
      addresses_(std::move(addresses)),
      options_(options),
      listener_(listener),
      breaker_(options.breaker_failures, options.retry_first, options.retry_longest),
      host_addresses_(addresses_.size()),
      probe_timer_(loop) {
  Connect();
}

RedisServer::~RedisServer() {
  closing_ = true;
  connection_.reset();
  for (RedisCallPtr& call : for_next_address_) RedisCall::Answer(std::move(call), {.problem = "the store is closed"});
}

// --- Calls

void RedisServer::Send(RedisCallPtr call) {
  if (!breaker_.lets_pass() || !connection_) return RedisCall::Answer(std::move(call), {.problem = problem_});
  SendNow(std::move(call));
}

void RedisServer::SendNow(RedisCallPtr call) {
  if (call->asking) SendOwn(FormatRedisCommand({"ASKING"}), [](const RedisOutcome&) {});
  call->handler = this;
  connection_->Send(std::move(call));
}

void RedisServer::SendOwn(const std::string& command, std::function<void(RedisOutcome)> done) {
  auto call = std::make_unique<RedisCall>();
  call->command = command;
  call->deadline = loop_.Now() + options_.timeout;
  call->done = std::move(done);
  connection_->Send(std::move(call));
}

void RedisServer::OnOutcome(RedisCallPtr call, RedisOutcome outcome) {
  if (closing_) return RedisCall::Answer(std::move(call), std::move(outcome));
  if (!outcome.answered()) {
    const bool another = !outcome.sent && connection_->ended() && TriesAnotherAddress();
    if (another && call->deadline > loop_.Now()) return for_next_address_.push_back(std::move(call));
    Fail(outcome.problem);
    return RedisCall::Answer(std::move(call), std::move(outcome));
  }
  const redisReply& reply = *outcome.reply;
  if (!IsError(reply)) {
    if (breaker_.lets_pass()) problem_.clear();
    breaker_.Answered();
    return RedisCall::Answer(std::move(call), std::move(outcome));
  }
  if (IsError(reply, "NOSCRIPT") && call->script_loads < kMostScriptLoads) {
    ++call->script_loads;
    return SendWithScripts(std::move(call));
  }
  if (listener_ && (IsOneOf(reply, kRefusals) || IsKeyOnItsWay(reply))) listener_->OnRefused(*this, call, reply);
  if (!call) return;
  outcome.problem = "Redis at " + Describe(address()) + ": " + DescribeError(reply);
  if (IsOneOf(reply, kNothingIsWritten)) {
    problem_ = outcome.problem;
    if (breaker_.Trip()) Open();
  } else if (!IsOneOf(reply, kOfTheCall)) {
    Fail(outcome.problem);
  }
  RedisCall::Answer(std::move(call), std::move(outcome));
}

// The server executes the commands of a connection in order, so it loads the scripts before it executes the call.
void RedisServer::SendWithScripts(RedisCallPtr call) {
  if (!std::exchange(scripts_on_the_way_, true))
    for (const std::string& command : options_.connection.prelude)
      SendOwn(command, [this](const RedisOutcome&) { scripts_on_the_way_ = false; });
  SendNow(std::move(call));
}

// --- The connection

void RedisServer::Connect() {
  ready_since_.reset();
  scripts_on_the_way_ = false;
  connection_ = std::make_unique<RedisConnection>(loop_, addresses_[at_], options_.connection,
                                                  static_cast<RedisConnection::Listener*>(this), host_addresses_[at_]);
  for (RedisCallPtr& call : std::exchange(for_next_address_, {})) SendNow(std::move(call));
}

bool RedisServer::TriesAnotherAddress() const { return !ready_since_ && tried_ + 1 < addresses_.size(); }

void RedisServer::OnReady(RedisConnection& connection) {
  host_addresses_[at_] = connection.next_host_address();
  warning_ = connection.warning();
  ready_since_ = loop_.Now();
  tried_ = 0;
  if (std::exchange(connects_again_, true)) ++reconnects_;
  if (!breaker_.lets_pass()) {
    breaker_.ProbeAnswered();
    problem_.clear();
  }
  probe_timer_.Cancel();
  if (listener_) listener_->OnUp(*this);
}

void RedisServer::OnEnd(RedisConnection& connection, const std::string& problem) {
  problem_ = problem;
  writes_ += connection.writes();
  if (!ready_since_) host_addresses_[at_] = connection.next_host_address();
  std::erase_if(lingering_, [](const auto& one) { return !one->lingers(); });
  lingering_.push_back(std::move(connection_));
  if (lingering_.size() > kMostLingering) lingering_.pop_front();
  if (ready_since_) return OnLost();
  OnNotConnected();
}

void RedisServer::OnLost() {
  // Connects again at once, unless the server closes its connections soon after accepting them.
  if (breaker_.lets_pass() && loop_.Now() - *ready_since_ >= options_.retry_first) return Connect();
  ready_since_.reset();
  const bool opened = breaker_.Trip();
  if (!probe_timer_.armed()) WaitForProbe();
  if (opened && listener_) listener_->OnDown(*this, problem_);
}

void RedisServer::OnNotConnected() {
  connects_again_ = true;
  const bool another = TriesAnotherAddress();
  at_ = (at_ + 1) % addresses_.size();
  tried_ = another ? tried_ + 1 : 0;
  if (another) return Connect();
  if (breaker_.state() == RedisBreaker::State::kHalfOpen) breaker_.ProbeFailed();
  breaker_.Trip();
  WaitForProbe();
  if (listener_) listener_->OnDown(*this, problem_);
}

// --- The breaker

void RedisServer::Fail(const std::string& problem) {
  problem_ = problem;
  if (breaker_.Failed()) Open();
}

void RedisServer::Open() {
  WaitForProbe();
  if (listener_) listener_->OnDown(*this, problem_);
}

void RedisServer::WaitForProbe() {
  probe_timer_.After(breaker_.NextPause(), [this] { Probe(); });
}

void RedisServer::Probe() {
  if (connection_ && !connection_->ready()) return;  // OnReady or OnEnd will report the outcome
  breaker_.Probing();
  if (!connection_) return Connect();
  SendOwn(options_.probe, [this](const RedisOutcome& outcome) {
    if (closing_ || breaker_.state() != RedisBreaker::State::kHalfOpen) return;
    if (outcome.answered() && (!IsError(*outcome.reply) || IsError(*outcome.reply, "NOSCRIPT"))) {
      problem_.clear();
      return breaker_.ProbeAnswered();
    }
    breaker_.ProbeFailed();
    WaitForProbe();
  });
}

}  // namespace weir
