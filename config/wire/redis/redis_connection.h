// RedisConnection: one connection to one Redis server, from the attempt to connect until the connection ends. It never
// connects again; RedisServer makes another RedisConnection for that.
//
// The connection accepts calls (redis_call.h) from the beginning, and sends them when it is ready, that is, connected
// and logged in. The login consists of AUTH, SELECT, checks of the server (INFO), the commands of the prelude, and
// PING. The first three are part of it only if RedisConnectionOptions ask for them. The connection sends all calls of
// one turn of the loop (redis_loop.h) with one write, at the end of the turn, or when an earlier write has ended. It
// matches replies to calls by their order. Each call gets exactly one outcome: its reply, or a problem at its deadline
// or at the end of the connection. A reply that comes after the deadline goes to RedisCall::late, if that is set; at
// most kMostLate calls of a connection wait for a late reply at the same time.
//
// A host may have several IP addresses. The connection tries them in order, within one connect_timeout for all. If an
// address accepts the connection but not the login, the next connection should begin with the following address
// (next_host_address()).
//
// The connection ends if connecting and logging in fails or takes longer than connect_timeout, if the server closes it,
// or if Close is called. It also ends if a reply is not in the Redis protocol, is too large or belongs to no call, or
// if the server sends nothing for `silence` while calls wait for a reply on a connection that is ready. At its end it
// calls Listener::OnEnd once. After such a silence the connection lingers if some calls have RedisCall::late: it reads
// late replies until all have come, but at most for kHearsLate.
//
// Threads: only the loop's thread (redis_loop.h) may use a RedisConnection.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/wire/redis/redis_call.h"
#include "config/wire/redis/redis_client_options.h"
#include "config/wire/redis/redis_loop.h"
#include "config/wire/redis/redis_reply_bound.h"
#include "config/wire/redis/redis_url.h"

namespace weir {

class RedisStream;
struct RedisTls;

// The options of a connection. All connections to servers that have keys share one object, all connections to sentinels
// another.
struct RedisConnectionOptions {
  std::string user;  // empty: AUTH sends only the password, if there is a password
  std::string password;
  int database = 0;
  std::shared_ptr<RedisTls> tls;                       // null: no TLS
  Duration connect_timeout = std::chrono::seconds(1);  // for connecting and logging in together
  // Applies once the connection is ready: if the server sends nothing for this long while calls wait for a reply, the
  // connection ends.
  Duration silence = std::chrono::seconds(2);
  // The prelude: commands that the connection sends during the login, such as SCRIPT LOAD. FormatRedisCommand makes
  // them. If one of them fails, the login fails.
  std::vector<std::string> prelude;
  RedisReplyLimits reply;
  bool checks_server = false;  // whether the login checks the server's version and its eviction of keys (see below)
  // For tests: finds the IP addresses of a host, instead of the name service. Runs on a thread of its own, so it may
  // block.
  std::function<Result<std::vector<RedisAddress>>(const RedisAddress& address)> resolve = {};
};

// The maximum number of calls of one connection that wait for a late reply at the same time. Each takes about 500 bytes
// of memory.
inline constexpr size_t kMostLate = 10'000;
// The longest time for which a connection lingers. If a server stops for longer, its late replies are lost.
inline constexpr Duration kHearsLate = std::chrono::hours(1);

class RedisConnection final {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReady(RedisConnection& connection) = 0;  // the connection is logged in
    // The last call to the listener; every RedisCall has got its outcome by then. OnEnd must not destroy the connection
    // at once, but may let the loop do it later (RedisLoop::DropAtEndOfTurn).
    virtual void OnEnd(RedisConnection& connection, const std::string& problem) = 0;
  };

  // Begins to connect: first to the IP address of the host that has the index `host_address` (modulo the number of
  // addresses), then to the following ones. `options` must outlive the connection. `listener` may be null; otherwise it
  // must exist until OnEnd is called.
  RedisConnection(RedisLoop& loop, RedisAddress address, const RedisConnectionOptions& options, Listener* listener,
                  size_t host_address = 0);
  // Ends waiting calls with a problem. Does not call the listener.
  ~RedisConnection();

  // Sends the call, at once or when the connection is ready. If the connection has ended, the call ends at once with a
  // problem.
  void Send(RedisCallPtr call);
  // Ends the connection with this problem. Calls OnEnd before it returns, unless OnEnd was called before.
  void Close(const std::string& problem);

  bool ready() const { return state_ == State::kReady; }      // connected and logged in
  bool ended() const { return state_ >= State::kLingering; }  // also true while the connection lingers
  bool lingers() const { return state_ == State::kLingering; }
  const RedisAddress& address() const { return address_; }
  size_t waiting() const { return calls_.size(); }  // commands that were sent and have no reply yet
  // Returns the index of the IP address with which another connection to the host should begin: the address of this
  // connection if it is ready, else the address after the last one that this connection has tried.
  size_t next_host_address() const { return ready() ? next_address_ - 1 : next_address_; }
  const std::string& warning() const { return warning_; }  // a danger to the counters, such as eviction; empty: none
  // Returns how often the connection has written to the socket; for tests and benchmarks.
  uint64_t writes() const { return writes_; }

 private:
  enum class State : uint8_t { kConnecting, kLoggingIn, kReady, kLingering, kEnded };
  // A command that was sent and has no reply yet.
  struct Sent {
    RedisCallPtr call;      // null: the reply will be ignored
    uint64_t end = 0;       // the position after the command's last byte, among all bytes that the connection sends
    bool answered = false;  // the call got its outcome without a reply; `call` then has only what RedisCall::late needs
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
  size_t tried_ = 0;         // how many of addresses_ the connection has tried
  size_t next_address_ = 0;  // the index of the address to try next
  const TimePoint connect_deadline_;
  std::string warning_;
  std::shared_ptr<RedisStream> stream_;
  RedisReplyBound bound_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::deque<RedisCallPtr> early_;  // calls that came before the connection was ready
  std::deque<Sent> calls_;          // in the order in which they were sent
  std::string output_;
  uint64_t appended_ = 0;     // the number of bytes of all commands so far
  uint64_t handed_over_ = 0;  // how many of these bytes the stream has got
  uint64_t writes_ = 0;
  size_t logins_left_ = 0;  // the number of replies to the login that have not come yet
  size_t late_ = 0;         // the number of calls that wait for a late reply
  bool writing_ = false;    // whether a write is in progress or planned for the end of the turn
  TimePoint heard_{};       // when the server last sent bytes
  RedisLoop::Timer connect_timer_;
  RedisLoop::Timer timer_;  // for deadlines and silence
};

// The login uses these functions, which read the server's reply to INFO.
//
// Returns the value of a field such as "redis_version", or an empty text if the reply has no such field.
std::string_view RedisInfoField(std::string_view info, std::string_view name);
// Checks the reply to INFO server. Returns an error for a Sentinel, and for a Redis older than version 7, which cannot
// run the scripts. Accepts a server that states no version.
Status CheckRedisServer(std::string_view info);
// Checks the reply to INFO memory. Returns a warning if the server deletes keys when its memory is full, else an empty
// text.
std::string WarnOfEviction(std::string_view info);

}  // namespace weir
