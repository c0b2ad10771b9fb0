// RedisConnection: one connection to one server, from connecting to its end; who wants another makes another.
//
// Calls are taken from the beginning: they wait until the connection stands and has logged in (AUTH, SELECT, a look at
// what server it is, the prelude's commands). All that wait are written together at the end of the loop's turn; replies
// are matched in order. Each call is answered exactly once: with its reply, at its deadline (a later reply is dropped),
// or with the problem when the connection ends.
//
// A host may have several addresses: each has its share of connect_timeout; where one lets connect and then does not
// let in, the next connection should begin behind it (next_host_address()).
//
// It ends, and says so once, when connecting or logging in fails or takes longer than connect_timeout, when the server
// closes or answers what is not Redis, or when nothing comes for `silence` while calls wait.
//
// Threads: the loop's only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "throttle/quota/redis/redis_call.h"
#include "throttle/quota/redis/redis_loop.h"
#include "throttle/quota/redis/redis_socket.h"
#include "throttle/quota/redis/redis_store.h"

namespace weir {

// What all connections to servers of one kind have in common.
struct RedisConnectionOptions {
  std::string user;  // empty with a password: AUTH password
  std::string password;
  int database = 0;
  std::shared_ptr<RedisTls> tls;  // null: plain
  Duration connect_timeout = std::chrono::seconds(1);
  Duration silence = std::chrono::seconds(2);
  std::vector<std::string> prelude;  // commands (FormatRedisCommand) that must not fail: SCRIPT LOAD
  bool checks_server = false;        // that it is new enough (redis_info.h), and what to warn of
  // Instead of the name service, for tests; may take its time.
  std::function<Result<std::vector<RedisSocketAddress>>(const std::string& host, uint16_t port)> resolve = {};
};

class RedisConnection final : private RedisLoop::Watcher {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReady(RedisConnection& connection) = 0;  // logged in
    // The last call to it; all calls have been answered. It must not be destroyed within, but later (RedisLoop::Post).
    virtual void OnEnd(RedisConnection& connection, const std::string& problem) = 0;
  };

  // Begins to connect, with this of the host's addresses (modulo how many it has), then with those behind it. Options
  // and listener outlive it.
  RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options, Listener* listener,
                  size_t host_address = 0);
  ~RedisConnection() override;  // answers what waits; the listener hears nothing

  void Send(RedisCallPtr call);
  void Close(const std::string& problem);  // OnEnd follows, within

  bool ready() const { return state_ == State::kReady; }
  bool ended() const { return state_ == State::kEnded; }
  const RedisAddress& address() const { return address_; }
  size_t waiting() const { return calls_.size(); }
  // Where another connection to the host should begin: with the address that this one has, or behind all that failed.
  size_t next_host_address() const { return ready() ? next_address_ - 1 : next_address_; }
  const std::string& warning() const { return warning_; }  // of what the server may do to the counts
  // For tests and benchmarks.
  uint64_t writes() const { return writes_; }

 private:
  enum class State : uint8_t { kResolving, kConnecting, kHandshake, kLoggingIn, kReady, kEnded };
  struct Sent {
    RedisCallPtr call;  // null: its deadline has passed, the reply is dropped
    uint64_t end = 0;   // of its bytes in the stream
  };
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  using Addresses = Result<std::vector<RedisSocketAddress>>;
  void OnReady(uint32_t events) override;
  void Resolve();
  void OnResolved(Addresses addresses);
  void TryNextAddress(std::string problem);
  void EndAtTimeout(TimePoint when);
  void OnConnected();
  void OnHandshake(RedisSocket::Step step);
  void LogIn();
  using OnReplyToLogIn = std::function<Status(const redisReply& reply)>;
  void SendLogIn(std::string command, OnReplyToLogIn check);
  void SendLogIn(std::string command, std::string step);
  Status CheckRefusal(const std::string& step, const redisReply& reply) const;
  void BecomeReady();
  void Append(RedisCallPtr call);
  void Flush();
  void ReadReplies();
  void OnReply(RedisReply reply);
  void WatchFor(uint32_t events);
  void ArmTimer();
  void OnTimer();
  void End(const std::string& problem);
  std::string Named(const std::string& problem) const;

  RedisLoop& loop_;
  const RedisAddress address_;
  const RedisConnectionOptions& options_;
  Listener* listener_;
  State state_ = State::kResolving;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what the resolver's thread posts
  std::vector<RedisSocketAddress> addresses_;
  size_t tried_ = 0;  // of them
  size_t next_address_ = 0;
  const TimePoint connect_deadline_;
  std::string warning_;
  RedisSocket socket_;
  uint32_t watched_ = 0;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::deque<RedisCallPtr> early_;  // until it is ready
  std::deque<Sent> calls_;
  std::string output_;
  size_t output_begin_ = 0;
  uint64_t appended_ = 0;  // bytes of all calls
  uint64_t written_ = 0;   // of these, to the kernel
  uint64_t writes_ = 0;
  size_t logins_left_ = 0;  // replies
  bool flush_wanted_ = false;
  TimePoint heard_{};  // when something came last
  TimePoint timer_at_{};
  RedisLoop::Timer connect_timer_;
  RedisLoop::Timer timer_;  // for deadlines and silence
};

}  // namespace weir
