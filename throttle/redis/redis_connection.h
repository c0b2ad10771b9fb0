// RedisConnection: one connection to one Redis server, from connecting to its end. It does not connect again: another
// connection is another object (RedisServer makes it).
//
// Calls are accepted from the beginning. They wait until the connection is ready: connected and logged in (AUTH,
// SELECT, a check of the server's version, and the commands of the prelude). All calls that wait are written together
// at the end of the loop's turn (redis_loop.h), and replies are matched to calls by their order. Each call is answered
// exactly once: with its reply, or without one at its deadline, or with the problem when the connection ends. If the
// reply comes after the deadline, it is passed to RedisCall::late, if that is set; at most kMostLate calls of a
// connection wait for a late reply at the same time.
//
// A host may have several addresses. They are tried in order, and share connect_timeout. If one accepts the connection
// but not the login, the next connection should begin with the address after that one (next_host_address()).
//
// The connection ends, and tells its listener once, if connecting and logging in fails or takes longer than
// connect_timeout, if the server closes it, if an answer is not in the Redis protocol or is too large, or if nothing
// comes for `silence` while calls wait. After such a silence it lingers if some calls have RedisCall::late: it reads
// late replies until all have come, at most for kHearsLate.
//
// Threads: only the loop's thread (redis_loop.h) may use it.
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

// Options that all connections to servers of one kind have in common.
struct RedisConnectionOptions {
  std::string user;  // empty: AUTH, if there is a password, sends only the password
  std::string password;
  int database = 0;
  std::shared_ptr<RedisTls> tls;                       // null: no TLS
  Duration connect_timeout = std::chrono::seconds(1);  // for connecting and logging in
  // If the server sends nothing for this long while calls wait, the connection ends.
  Duration silence = std::chrono::seconds(2);
  // The prelude: commands (made by FormatRedisCommand) that are sent at the end of the login, such as SCRIPT LOAD. If
  // one of them fails, the login fails.
  std::vector<std::string> prelude;
  RedisReplyLimits reply;
  bool checks_server = false;  // whether the server's version and its eviction of keys are checked (redis_info.h)
  // For tests, instead of the name service: finds the IP addresses of a host. Called on a thread of its own, so it may
  // block.
  std::function<Result<std::vector<RedisAddress>>(const RedisAddress& address)> resolve = {};
};

// The most late replies that one connection waits for at the same time; each takes some 500 bytes.
inline constexpr size_t kMostLate = 10'000;
// How long a connection waits for late replies. If a server halts for longer, its replies are lost.
inline constexpr Duration kHearsLate = std::chrono::hours(1);

class RedisConnection final {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReady(RedisConnection& connection) = 0;  // the connection is logged in
    // The last call to the listener; every RedisCall has been answered by then. The listener must not destroy the
    // connection here, but later (RedisLoop::DropAtEndOfTurn).
    virtual void OnEnd(RedisConnection& connection, const std::string& problem) = 0;
  };

  // Begins to connect: first to the address with the index `host_address` among those of the host (modulo their
  // number), then to the following ones. `options` must outlive the connection, and `listener`, which may be null, must
  // live until OnEnd.
  RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options, Listener* listener,
                  size_t host_address = 0);
  // Answers waiting calls with a problem, and calls no function of the listener.
  ~RedisConnection();

  // Sends the call, or answers it at once if the connection has ended.
  void Send(RedisCallPtr call);
  // Ends the connection with this problem. OnEnd is called before this returns.
  void Close(const std::string& problem);

  bool ready() const { return state_ == State::kReady; }      // connected and logged in
  bool ended() const { return state_ >= State::kLingering; }  // true also while it lingers
  bool lingers() const { return state_ == State::kLingering; }
  const RedisAddress& address() const { return address_; }
  size_t waiting() const { return calls_.size(); }  // commands that were sent and have no reply yet
  // Returns the index of the address with which another connection to the host should begin: the one of this connection
  // if it is ready, else the one after all that have failed.
  size_t next_host_address() const { return ready() ? next_address_ - 1 : next_address_; }
  const std::string& warning() const { return warning_; }  // a danger to the counts, such as eviction; empty: none
  // How often it has written to the socket; for tests and benchmarks.
  uint64_t writes() const { return writes_; }

 private:
  enum class State : uint8_t { kConnecting, kLoggingIn, kReady, kLingering, kEnded };
  // A command that was sent and has no reply yet.
  struct Sent {
    RedisCallPtr call;      // null: the reply is dropped
    uint64_t end = 0;       // position after its last byte, among all bytes of the connection
    bool answered = false;  // it was answered without a reply; `call` then has only what RedisCall::late needs
  };
  struct Unanswered {
    RedisCallPtr call;
    bool sent = false;  // RedisOutcome::sent
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
  const std::shared_ptr<void> alive_ = std::make_shared<char>();  // tells posted tasks whether this object still exists
  std::vector<RedisAddress> addresses_;
  size_t tried_ = 0;         // how many of addresses_ were tried
  size_t next_address_ = 0;  // index of the address to try next
  const TimePoint connect_deadline_;
  std::string warning_;
  std::shared_ptr<RedisStream> stream_;
  RedisReplyBound bound_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::deque<RedisCallPtr> early_;  // calls that came before it was ready
  std::deque<Sent> calls_;          // in the order in which they were sent
  std::string output_;
  uint64_t appended_ = 0;     // bytes of all commands so far
  uint64_t handed_over_ = 0;  // how many of these were given to the stream
  uint64_t writes_ = 0;
  size_t logins_left_ = 0;  // replies to the login that have not come yet
  size_t late_ = 0;         // calls that wait for a late reply
  bool writing_ = false;    // it writes, or is about to
  TimePoint heard_{};       // when the last bytes came
  RedisLoop::Timer connect_timer_;
  RedisLoop::Timer timer_;  // for deadlines and silence
};

}  // namespace weir
