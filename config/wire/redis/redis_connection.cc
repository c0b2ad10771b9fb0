#include "config/wire/redis/redis_connection.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "config/text/parse.h"
#include "config/wire/redis/redis_stream.h"

namespace weir {
namespace {

constexpr TimePoint kNoDeadline = TimePoint::max();
constexpr const char* kNotConnected = "no connection within the time for it";
constexpr int kOldestRedis = 7;  // the oldest major version that weir supports

}  // namespace

RedisConnection::RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options,
                                 Listener* listener, size_t host_address)
    : loop_(loop),
      address_(std::move(address)),
      options_(options),
      listener_(listener),
      next_address_(host_address),
      connect_deadline_(loop.Now() + options.connect_timeout),
      bound_(options.reply),
      reader_(redisReaderCreate()),
      connect_timer_(loop),
      timer_(loop) {
  bound_.Watch(reader_.get());
  connect_timer_.At(connect_deadline_, [this] { End(Named(kNotConnected)); });
  Resolve();
}

RedisConnection::~RedisConnection() {
  listener_ = nullptr;
  if (state_ != State::kEnded) End(Named("the connection is closed"));
}

void RedisConnection::Send(RedisCallPtr call) {
  if (ended()) return RedisCall::Answer(std::move(call), {.problem = Named("the connection is closed")});
  if (state_ == State::kReady) return Append(std::move(call));
  early_.push_back(std::move(call));
  ArmTimer();
}

void RedisConnection::Close(const std::string& problem) {
  if (state_ != State::kEnded) End(Named(problem));
}

std::string RedisConnection::Named(const std::string& problem) const {
  return "Redis at " + Describe(address_) + ": " + problem;
}

// --- Connecting and logging in

void RedisConnection::Resolve() {
  if (IsNumeric(address_.host)) {
    addresses_ = {address_};
    return TryNextAddress({});
  }
  // The name service may be slow, so another thread asks it. Its answer may come after the loop has ended.
  const auto go_on = [this, io = std::weak_ptr(loop_.io()),
                      alive = std::weak_ptr(alive_)](Result<std::vector<RedisAddress>> addresses) {
    const auto loop = io.lock();
    if (!loop) return;
    boost::asio::post(*loop, [this, alive, addresses = std::move(addresses)] {
      if (alive.expired() || state_ != State::kConnecting) return;
      if (!addresses.ok()) return End(Named(addresses.status().message()));
      addresses_ = addresses.value();
      TryNextAddress("the host has no address");
    });
  };
  try {
    std::thread([go_on, address = address_, resolve = options_.resolve] {
      go_on(resolve ? resolve(address) : ResolveRedisHost(address));
    }).detach();
  } catch (const std::system_error& e) {
    go_on(Status::Error(std::string("no thread could be made that looks up the host: ") + e.what()));
  }
}

// Each address that is left gets an equal share of the time that is left.
void RedisConnection::TryNextAddress(const std::string& problem) {
  if (tried_ == addresses_.size()) return End(Named(problem));
  const TimePoint now = loop_.Now();
  const auto left = static_cast<Duration::rep>(addresses_.size() - tried_++);
  connect_timer_.At(now + (connect_deadline_ - now) / left, [this] { TryNextAddress(kNotConnected); });
  if (stream_) stream_->Close();
  stream_ = std::make_shared<RedisStream>(loop_, options_.tls.get());
  stream_->Connect(addresses_[next_address_++ % addresses_.size()],
                   [this](const std::string& why) { why.empty() ? OnConnected() : TryNextAddress(why); });
}

void RedisConnection::OnConnected() {
  connect_timer_.At(connect_deadline_, [this] { End(Named(kNotConnected)); });
  stream_->Secure(address_.host, [this](const std::string& why) { why.empty() ? LogIn() : End(Named(why)); });
}

void RedisConnection::LogIn() {
  state_ = State::kLoggingIn;
  Read();
  if (!options_.password.empty()) {
    SendLogIn(options_.user.empty() ? FormatRedisCommand({"AUTH", options_.password})
                                    : FormatRedisCommand({"AUTH", options_.user, options_.password}),
              "refuses the user or the password");
  }
  if (options_.database != 0) {
    const std::string database = std::to_string(options_.database);
    SendLogIn(FormatRedisCommand({"SELECT", database}), "has no database " + database);
  }
  if (options_.checks_server) {
    // If the user may not run INFO, the login checks nothing. INFO comes before the scripts, because it shows a missing
    // password: without a password the server refuses a script only for its length.
    SendLogIn(FormatRedisCommand({"INFO", "server"}), [this](const redisReply& reply) {
      if (IsError(reply, "NOAUTH")) return CheckRefusal("lets nobody in", reply);
      return reply.type == REDIS_REPLY_STRING ? CheckRedisServer(TextOf(reply)) : Status();
    });
    SendLogIn(FormatRedisCommand({"INFO", "memory"}), [this](const redisReply& reply) {
      if (reply.type == REDIS_REPLY_STRING) warning_ = WarnOfEviction(TextOf(reply));
      if (!warning_.empty()) warning_ = Named(warning_);
      return Status();
    });
  }
  for (const std::string& command : options_.prelude) SendLogIn(command, "does not take the scripts");
  // The reply to PING shows that the server is ready, even if the login has no other command.
  SendLogIn(FormatRedisCommand({"PING"}), "does not answer PING");
}

void RedisConnection::SendLogIn(std::string command, OnReplyToLogIn check) {
  auto call = std::make_unique<RedisCall>();
  call->command = std::move(command);
  call->deadline = kNoDeadline;
  call->done = [this, check = std::move(check)](const RedisOutcome& outcome) {
    if (state_ != State::kLoggingIn) return;
    const Status checked = check(*outcome.reply);
    if (!checked.ok()) return End(Named(checked.message()));
    if (--logins_left_ == 0) BecomeReady();
  };
  ++logins_left_;
  Append(std::move(call));
}

void RedisConnection::SendLogIn(std::string command, std::string step) {
  SendLogIn(std::move(command),
            [this, step = std::move(step)](const redisReply& reply) { return CheckRefusal(step, reply); });
}

Status RedisConnection::CheckRefusal(const std::string& step, const redisReply& reply) const {
  if (!IsError(reply)) return {};
  // A server that does not know a command repeats its arguments in the error: for AUTH, the password.
  const std::string_view text = TextOf(reply);
  const bool repeats = text.find("with args") != std::string_view::npos ||
                       (!options_.password.empty() && text.find(options_.password) != std::string_view::npos);
  if (repeats) return Status::Error(step + ": " + std::string(text.substr(0, text.find(' '))));
  return Status::Error(step + ": " + DescribeError(reply));
}

void RedisConnection::BecomeReady() {
  state_ = State::kReady;
  connect_timer_.Cancel();
  std::deque<RedisCallPtr> early = std::move(early_);
  early_.clear();
  for (RedisCallPtr& call : early) Append(std::move(call));
  if (listener_) listener_->OnReady(*this);
}

// --- Calls and replies

void RedisConnection::Append(RedisCallPtr call) {
  output_ += call->command;
  appended_ += call->command.size();
  if (calls_.empty()) heard_ = loop_.Now();
  calls_.push_back({.call = std::move(call), .end = appended_});
  ArmTimer();
  if (std::exchange(writing_, true)) return;
  loop_.AtEndOfTurn([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Write();
  });
}

void RedisConnection::Write() {
  writing_ = !ended() && !output_.empty();
  if (!writing_) return;
  ++writes_;
  handed_over_ = appended_;
  stream_->Write(&output_, [this](const std::string& problem) { problem.empty() ? Write() : End(Named(problem)); });
}

void RedisConnection::Read() {
  stream_->Read([this](const std::string& problem, std::string_view bytes) {
    if (!problem.empty()) return End(Named(problem));
    OnBytes(bytes);
    if (state_ != State::kEnded) Read();
  });
}

void RedisConnection::OnBytes(std::string_view bytes) {
  heard_ = loop_.Now();
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
  void* reply = nullptr;
  while (redisReaderGetReply(reader_.get(), &reply) == REDIS_OK && reply != nullptr) {
    OnReply(RedisReply(static_cast<redisReply*>(reply)));
    if (state_ == State::kEnded) return;
  }
  if (bound_.IsExceeded()) return End(Named(bound_.Problem()));
  if (reader_->err != 0) End(Named("what it answers is not the Redis protocol"));
}

void RedisConnection::OnReply(RedisReply reply) {
  if (calls_.empty()) {
    // A server with too many clients sends an error before it gets any command.
    return End(Named(IsError(*reply) ? std::string(TextOf(*reply)) : "it answers what nobody asked"));
  }
  Sent sent = std::move(calls_.front());
  calls_.pop_front();
  if (!sent.answered) return RedisCall::Answer(std::move(sent.call), {.reply = std::move(reply)});
  if (!sent.call) return;
  sent.call->late(*sent.call, *reply);
  if (--late_ == 0 && lingers()) End({});
}

void RedisConnection::ArmTimer() {
  TimePoint when = kNoDeadline;
  if (!calls_.empty()) {
    when = heard_ + options_.silence;
    if (const Sent& newest = calls_.back(); !newest.answered) when = std::min(when, newest.call->deadline);
  }
  if (!early_.empty()) when = std::min(when, early_.back()->deadline);
  if (timer_.armed() && timer_.when() <= when) return;
  timer_.At(when, [this] { OnTimer(); });
}

void RedisConnection::OnTimer() {
  const TimePoint now = loop_.Now();
  std::vector<Unanswered> late;
  TimePoint next = kNoDeadline;
  for (Sent& sent : calls_) {
    if (sent.answered) continue;
    if (sent.call->deadline <= now) {
      late.push_back({GiveUp(&sent), true});
    } else {
      next = std::min(next, sent.call->deadline);
    }
  }
  std::erase_if(early_, [&](RedisCallPtr& call) {
    const bool is_late = call->deadline <= now;
    if (is_late) {
      late.push_back({std::move(call), false});
    } else {
      next = std::min(next, call->deadline);
    }
    return is_late;
  });
  const bool silent = state_ == State::kReady && !calls_.empty() && now - heard_ >= options_.silence;
  if (!calls_.empty() && state_ == State::kReady) next = std::min(next, std::max(now, heard_ + options_.silence));
  if (next != kNoDeadline && !silent) timer_.At(next, [this] { OnTimer(); });
  for (Unanswered& one : late) {
    const std::string problem = one.sent ? "no answer in time" : "no connection in time";
    RedisCall::Answer(std::move(one.call), {.sent = one.sent, .problem = Named(problem)});
  }
  if (silent && !ended()) End(Named("it has stopped answering"), true);
}

// Takes the call out of *sent, so that it can be answered without a reply. Leaves there what a late reply needs.
RedisCallPtr RedisConnection::GiveUp(Sent* sent) {
  RedisCallPtr call = std::move(sent->call);
  sent->answered = true;
  if (!call->late || late_ >= kMostLate) return call;
  ++late_;
  sent->call = std::make_unique<RedisCall>();
  sent->call->command = std::move(call->command);
  sent->call->slot = call->slot;
  sent->call->late = std::move(call->late);
  return call;
}

void RedisConnection::End(const std::string& problem, bool may_linger) {
  connect_timer_.Cancel();
  timer_.Cancel();
  std::vector<Unanswered> unanswered;
  for (Sent& sent : std::exchange(calls_, {})) {
    const bool is_sent = sent.end <= handed_over_;  // the stream has the command, but may not have written it
    if (!sent.answered) unanswered.push_back({may_linger && is_sent ? GiveUp(&sent) : std::move(sent.call), is_sent});
    if (may_linger && is_sent) calls_.push_back(std::move(sent));
  }
  for (RedisCallPtr& call : std::exchange(early_, {})) unanswered.push_back({std::move(call), false});
  late_ = static_cast<size_t>(std::ranges::count_if(calls_, [](const Sent& sent) { return sent.call != nullptr; }));
  if (late_ > 0) {
    state_ = State::kLingering;
    connect_timer_.After(kHearsLate, [this] { End({}); });
  } else {
    state_ = State::kEnded;
    if (stream_) stream_->Close();
  }
  for (Unanswered& one : unanswered) RedisCall::Answer(std::move(one.call), {.sent = one.sent, .problem = problem});
  if (Listener* listener = std::exchange(listener_, nullptr)) listener->OnEnd(*this, problem);
}

// --- The server's reply to INFO

std::string_view RedisInfoField(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const size_t end = std::min(info.find("\r\n"), info.size());
    const std::string_view line = info.substr(0, end);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
    info.remove_prefix(std::min(end + 2, info.size()));
  }
  return {};
}

Status CheckRedisServer(std::string_view info) {
  if (RedisInfoField(info, "redis_mode") == "sentinel")
    return Status::Error("this is a Sentinel: the store's URL must be redis-sentinel://HOST:PORT/MASTER");
  const std::string_view version = RedisInfoField(info, "redis_version");
  int major = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || major >= kOldestRedis) return {};
  return Status::Error("it is Redis " + Printable(version) + ", and weir needs " + std::to_string(kOldestRedis) +
                       " or later");
}

std::string WarnOfEviction(std::string_view info) {
  const std::string_view policy = RedisInfoField(info, "maxmemory_policy");
  const std::string_view most = RedisInfoField(info, "maxmemory");
  if (most.empty() || most == "0" || policy.empty() || policy == "noeviction") return {};
  return "its maxmemory-policy is " + Printable(policy) +
         ": set maxmemory-policy noeviction: evicted counts admit too much";
}

}  // namespace weir
