#include "throttle/quota/redis/redis_connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "throttle/quota/redis/redis_info.h"

namespace weir {
namespace {

using Step = RedisSocket::Step;

constexpr TimePoint kNoDeadline = TimePoint::max();

uint32_t EventsFor(Step step) { return step == Step::kWantsWrite ? EPOLLOUT : EPOLLIN; }

}  // namespace

RedisConnection::RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options,
                                 Listener* listener, size_t host_address)
    : loop_(loop),
      address_(std::move(address)),
      options_(options),
      listener_(listener),
      next_address_(host_address),
      connect_deadline_(loop.Now() + options.connect_timeout),
      reader_(redisReaderCreate()),
      connect_timer_(loop),
      timer_(loop) {
  EndAtTimeout(connect_deadline_);
  Resolve();
}

RedisConnection::~RedisConnection() {
  listener_ = nullptr;
  if (state_ != State::kEnded) End(Named("the connection is closed"));
  *alive_ = false;
}

void RedisConnection::Send(RedisCallPtr call) {
  if (state_ == State::kEnded)
    return RedisCall::Answer(std::move(call), {.problem = Named("the connection is closed")});
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

void RedisConnection::OnReady(uint32_t events) {
  if (events == 0) {  // the end of the turn
    flush_wanted_ = false;
    return state_ == State::kLoggingIn || state_ == State::kReady ? Flush() : void();
  }
  switch (state_) {
    case State::kConnecting:
      if (socket_.FinishConnect() == Step::kDone) return OnConnected();
      return TryNextAddress(socket_.problem());
    case State::kHandshake:
      return OnHandshake(socket_.Handshake());
    case State::kLoggingIn:
    case State::kReady:
      ReadReplies();
      if (state_ != State::kEnded && output_begin_ < output_.size()) Flush();
      return;
    case State::kResolving:
    case State::kEnded:
      return;
  }
}

// --- Connecting and logging in

void RedisConnection::Resolve() {
  Addresses numeric = ResolveRedisHost(address_.host, address_.port, true);
  if (numeric.ok()) {
    // Not at once: whoever makes a connection expects its end later.
    loop_.Post([this, alive = alive_, numeric] { *alive ? OnResolved(numeric) : void(); });
    return;
  }
  // The name service may take its time: not in the loop, and not longer than the loop lives.
  std::thread([this, mailbox = loop_.mailbox(), alive = alive_, host = address_.host, port = address_.port,
               resolve = options_.resolve] {
    Addresses addresses = resolve ? resolve(host, port) : ResolveRedisHost(host, port, false);
    mailbox->Post([this, alive, addresses] { *alive ? OnResolved(addresses) : void(); });
  }).detach();
}

void RedisConnection::OnResolved(Addresses addresses) {
  if (state_ != State::kResolving) return;
  if (!addresses.ok()) return End(Named(addresses.status().message()));
  addresses_ = std::move(addresses).value();
  TryNextAddress("the host has no address");
}

void RedisConnection::TryNextAddress(std::string problem) {
  while (tried_ < addresses_.size()) {
    if (socket_.fd() >= 0) loop_.Forget(socket_.fd());
    const auto left = static_cast<Duration::rep>(addresses_.size() - tried_++);
    const Step step = socket_.Connect(addresses_[next_address_++ % addresses_.size()]);
    if (step == Step::kFailed) {
      problem = socket_.problem();
      continue;
    }
    state_ = State::kConnecting;
    watched_ = 0;
    if (step == Step::kDone) return OnConnected();
    if (left > 1) {
      const TimePoint now = loop_.Now();
      connect_timer_.At(now + (connect_deadline_ - now) / left,
                        [this] { TryNextAddress("no connection within the time for it"); });
    } else {
      EndAtTimeout(connect_deadline_);
    }
    return WatchFor(EPOLLOUT);
  }
  End(Named(problem));
}

void RedisConnection::EndAtTimeout(TimePoint when) {
  connect_timer_.At(when, [this] { End(Named("no connection within the time for it")); });
}

void RedisConnection::OnConnected() {
  EndAtTimeout(connect_deadline_);
  if (!options_.tls) return LogIn();
  const Status begun = socket_.BeginTls(*options_.tls, address_.host);
  if (!begun.ok()) return End(Named(begun.message()));
  state_ = State::kHandshake;
  OnHandshake(socket_.Handshake());
}

void RedisConnection::OnHandshake(Step step) {
  if (step == Step::kDone) return LogIn();
  if (step == Step::kFailed) return End(Named(socket_.problem()));
  WatchFor(EventsFor(step));
}

void RedisConnection::LogIn() {
  state_ = State::kLoggingIn;
  WatchFor(EPOLLIN);
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
    // Who may not ask cannot tell. The first that the server says to who has no password: of the scripts it would only
    // say that they are too long.
    SendLogIn(FormatRedisCommand({"INFO", "server"}), [this](const redisReply& reply) {
      if (IsError(reply, "NOAUTH")) return CheckRefusal("lets nobody in", reply);
      return reply.type == REDIS_REPLY_STRING ? CheckRedisVersion(TextOf(reply)) : Status();
    });
    SendLogIn(FormatRedisCommand({"INFO", "memory"}), [this](const redisReply& reply) {
      if (reply.type == REDIS_REPLY_STRING) warning_ = WarnOfEviction(TextOf(reply));
      if (!warning_.empty()) warning_ = Named(warning_);
      return Status();
    });
  }
  for (const std::string& command : options_.prelude) SendLogIn(command, "does not take the scripts");
  // The answer to this one says that it is ready, also where nothing else was to be said.
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
  // Who does not know a command says it again, and with AUTH the password.
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
  if (std::exchange(flush_wanted_, true)) return;
  loop_.AtEndOfTurn(this);
}

void RedisConnection::Flush() {
  while (output_begin_ < output_.size()) {
    size_t count = 0;
    const Step step = socket_.Write(std::string_view(output_).substr(output_begin_), &count);
    ++writes_;
    output_begin_ += count;
    written_ += count;
    if (step == Step::kFailed) return End(Named(socket_.problem()));
    if (step != Step::kDone) return WatchFor(EPOLLIN | EventsFor(step));
  }
  output_.clear();
  output_begin_ = 0;
  WatchFor(EPOLLIN);
}

void RedisConnection::ReadReplies() {
  static constexpr size_t kReadBytes = size_t{64} << 10;
  std::array<char, kReadBytes> buffer;
  do {
    size_t count = 0;
    const Step step = socket_.Read(buffer.data(), buffer.size(), &count);
    if (step == Step::kFailed) return End(Named(socket_.problem()));
    if (step != Step::kDone) return;
    if (count == 0) return End(Named("it has closed the connection"));
    heard_ = loop_.Now();
    redisReaderFeed(reader_.get(), buffer.data(), count);
    void* reply = nullptr;
    while (redisReaderGetReply(reader_.get(), &reply) == REDIS_OK && reply != nullptr) {
      OnReply(RedisReply(static_cast<redisReply*>(reply)));
      if (state_ == State::kEnded) return;
    }
    if (reader_->err != 0) return End(Named("what it answers is not the Redis protocol"));
  } while (socket_.HasBuffered());
}

void RedisConnection::OnReply(RedisReply reply) {
  if (calls_.empty()) {
    // A server with too many clients says so before it is asked.
    return End(Named(IsError(*reply) ? std::string(TextOf(*reply)) : "it answers what nobody asked"));
  }
  RedisCallPtr call = std::move(calls_.front().call);
  calls_.pop_front();
  if (call) RedisCall::Answer(std::move(call), {.reply = std::move(reply)});
}

void RedisConnection::WatchFor(uint32_t events) {
  if (std::exchange(watched_, events) != events) loop_.Watch(socket_.fd(), events, this);
}

void RedisConnection::ArmTimer() {
  TimePoint when = kNoDeadline;
  if (!calls_.empty()) {
    when = heard_ + options_.silence;
    if (const RedisCallPtr& newest = calls_.back().call) when = std::min(when, newest->deadline);
  }
  if (!early_.empty()) when = std::min(when, early_.back()->deadline);
  if (timer_.armed() && timer_at_ <= when) return;
  timer_at_ = when;
  timer_.At(when, [this] { OnTimer(); });
}

void RedisConnection::OnTimer() {
  const TimePoint now = loop_.Now();
  struct Late {
    RedisCallPtr call;
    bool sent;
  };
  std::vector<Late> late;
  TimePoint next = kNoDeadline;
  for (Sent& sent : calls_) {
    if (!sent.call) continue;
    if (sent.call->deadline <= now) {
      late.push_back({std::move(sent.call), true});
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
  if (next != kNoDeadline && !silent) {
    timer_at_ = next;
    timer_.At(next, [this] { OnTimer(); });
  }
  for (Late& one : late) {
    const std::string problem = one.sent ? "no answer in time" : "no connection in time";
    RedisCall::Answer(std::move(one.call), {.sent = one.sent, .problem = Named(problem)});
  }
  if (silent && state_ != State::kEnded) End(Named("it has stopped answering"));
}

void RedisConnection::End(const std::string& problem) {
  state_ = State::kEnded;
  connect_timer_.Cancel();
  timer_.Cancel();
  if (flush_wanted_) loop_.ForgetAtEndOfTurn(this);
  if (socket_.fd() >= 0) loop_.Forget(socket_.fd());
  socket_.Close();
  std::deque<Sent> calls = std::move(calls_);
  std::deque<RedisCallPtr> early = std::move(early_);
  calls_.clear();
  early_.clear();
  for (Sent& sent : calls)
    if (sent.call) RedisCall::Answer(std::move(sent.call), {.sent = sent.end <= written_, .problem = problem});
  for (RedisCallPtr& call : early) RedisCall::Answer(std::move(call), {.problem = problem});
  if (listener_) listener_->OnEnd(*this, problem);
}

}  // namespace weir
