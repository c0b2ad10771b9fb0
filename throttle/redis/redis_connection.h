// RedisConnection: one connection to one server, from connecting to its end. Another connection is another object.
//
// Calls are accepted from the beginning: they wait until the connection stands and has logged in (AUTH, SELECT, a look
// at the server's version, the prelude's commands). All that wait are written together at the end of the loop's turn;
// replies are matched in order. Each call is answered exactly once: with its reply, at its deadline, or with the
// problem when the connection ends. A call with RedisCall::late also gets a reply that comes after that; kMostLate
// calls at once may wait for one.
//
// A host may have several addresses: each has its share of connect_timeout. If one accepts the connection but not the
// login, the next connection should begin behind it (next_host_address()).
//
// It ends, and says so once, when connecting or logging in fails or takes longer than connect_timeout, when the server
// closes or its answer is not Redis, or when nothing comes for `silence` while calls wait. After such a silence late
// replies are still read, for kHearsLate: until then it lingers.
//
// Threads: the loop's only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "throttle/redis/redis_call.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_loop.h"
#include "throttle/redis/redis_reply_bound.h"
#include "throttle/redis/redis_url.h"

namespace weir {

class RedisStream;
struct RedisTls;

// Options that all connections to servers of one kind share.
struct RedisConnectionOptions {
  std::string user;  // empty with a password: AUTH password
  std::string password;
  int database = 0;
  std::shared_ptr<RedisTls> tls;  // null: plain
  Duration connect_timeout = std::chrono::seconds(1);
  Duration silence = std::chrono::seconds(2);
  std::vector<std::string> prelude;  // commands (FormatRedisCommand) that must not fail: SCRIPT LOAD
  RedisReplyLimits reply;
  bool checks_server = false;  // check that it is new enough (redis_info.h), and whether to warn of it
  // For tests, instead of the name service: finds the host's IP addresses. May take its time.
  std::function<Result<std::vector<RedisAddress>>(const RedisAddress& address)> resolve = {};
};

// Late replies that a connection waits for at once, at most: some 500 bytes each.
inline constexpr size_t kMostLate = 10'000;
// Time for which late replies are awaited; a server that was halted for longer is not heard.
inline constexpr Duration kHearsLate = std::chrono::hours(1);

class RedisConnection final {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReady(RedisConnection& connection) = 0;  // logged in
    // The last call to the listener; all calls have been answered. The connection must not be destroyed within, but
    // later (DropAtEndOfTurn).
    virtual void OnEnd(RedisConnection& connection, const std::string& problem) = 0;
  };

  // Begins to connect, with this one of the host's addresses (modulo their number), then with those behind it.
  // `options` and `listener` outlive it.
  RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options, Listener* listener,
                  size_t host_address = 0);
  ~RedisConnection();  // answers waiting calls; the listener hears nothing

  void Send(RedisCallPtr call);
  void Close(const std::string& problem);  // OnEnd is called within

  bool ready() const { return state_ == State::kReady; }
  bool ended() const { return state_ >= State::kLingering; }
  bool lingers() const { return state_ == State::kLingering; }
  const RedisAddress& address() const { return address_; }
  size_t waiting() const { return calls_.size(); }
  // The address with which another connection to the host should begin: the one of this connection, or the one behind
  // all that failed.
  size_t next_host_address() const { return ready() ? next_address_ - 1 : next_address_; }
  const std::string& warning() const { return warning_; }  // a danger to the counts, such as eviction; empty: none
  // For tests and benchmarks.
  uint64_t writes() const { return writes_; }

 private:
  enum class State : uint8_t { kConnecting, kLoggingIn, kReady, kLingering, kEnded };
  struct Sent {
    RedisCallPtr call;      // null: the reply is dropped
    uint64_t end = 0;       // end of its bytes in the stream
    bool answered = false;  // `call` is what is left of it, for a late reply
  };
  struct Unanswered {
    RedisCallPtr call;
    bool sent = false;
  };
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  void Resolve();
  void TryNextAddress(const std::string& problem);
  void OnConnected();
  void LogIn();
  using OnReplyToLogIn = std::function<Status(const redisReply& reply)>;
  void SendLogIn(std::string command, OnReplyToLogIn check);
  void SendLogIn(std::string command, std::string step);
  Status CheckRefusal(const std::string& step, const redisReply& reply) const;
  void BecomeReady();
  void Append(RedisCallPtr call);
  void Write();
  void Read();
  void OnBytes(std::string_view bytes);
  void OnReply(RedisReply reply);
  void ArmTimer();
  void OnTimer();
  RedisCallPtr GiveUp(Sent* sent);
  void End(const std::string& problem, bool may_linger = false);
  std::string Named(const std::string& problem) const;

  RedisLoop& loop_;
  const RedisAddress address_;
  const RedisConnectionOptions& options_;
  Listener* listener_;
  State state_ = State::kConnecting;
  const std::shared_ptr<void> alive_ = std::make_shared<char>();  // for posted tasks
  std::vector<RedisAddress> addresses_;
  size_t tried_ = 0;  // how many of them
  size_t next_address_ = 0;
  const TimePoint connect_deadline_;
  std::string warning_;
  std::shared_ptr<RedisStream> stream_;
  RedisReplyBound bound_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::deque<RedisCallPtr> early_;  // calls until it is ready
  std::deque<Sent> calls_;
  std::string output_;
  uint64_t appended_ = 0;     // bytes of all calls
  uint64_t handed_over_ = 0;  // how many of these the stream has
  uint64_t writes_ = 0;
  size_t logins_left_ = 0;  // missing replies to the login
  size_t late_ = 0;         // calls that wait for a late reply
  bool writing_ = false;    // or about to write
  TimePoint heard_{};       // when something came last
  RedisLoop::Timer connect_timer_;
  RedisLoop::Timer timer_;  // for deadlines and silence
};

}  // namespace weir
