#include "throttle/limits/keyed/redis/redis_shared_windows.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "config/mutex.h"
#include "config/text/percent.h"
#include "config/wire/redis/redis_core.h"
#include "config/wire/redis/redis_lua.h"

namespace weir {
namespace {

// KEYS: the window's key. ARGV: the limit, the window in microseconds, the wished grants. Returns the number of the
// window, how many grants are leased, how many are used by all, and how many microseconds the window has left.
constexpr std::string_view kLease = R"lua(
local time = redis.call('TIME')
local now, window = time[1] * 1000000 + time[2], tonumber(ARGV[2])
local number, used = math.floor(now / window), 0
local there = redis.call('GET', KEYS[1])
if there then
  local of, count = string.match(there, '^(%d+) (%d+)$')
  if not of then return redis.error_reply('WRONGTYPE ' .. KEYS[1] .. ' is not the count of a window') end
  of = tonumber(of)
  -- One later than now: the clock has stepped back.
  if of == number or of == number + 1 then number, used = of, tonumber(count) end
end
local left = (number + 1) * window - now
local granted = math.max(0, math.min(tonumber(ARGV[3]), ARGV[1] - used))
if granted > 0 then
  -- A key that expired before its window, by a clock that is read a moment earlier, would let the limit pass again.
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', number, used + granted), 'PX', math.ceil(left / 1000) + 1000)
end
return {number, granted, used + granted, left}
)lua";

}  // namespace

std::optional<LeaseAnswer> ParseLease(const redisReply& reply, const LeaseWish& wish) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 4) return std::nullopt;
  const auto at = [&reply](size_t place) {
    return reply.element[place]->type == REDIS_REPLY_INTEGER ? reply.element[place]->integer : -1;
  };
  if (at(0) < 0 || at(1) < 0 || at(1) > wish.grants || at(2) < at(1) || at(3) < 0) return std::nullopt;
  // If the server's clock has stepped back, its window may have up to two lengths left.
  if (at(3) > 2 * std::chrono::microseconds(wish.window).count()) return std::nullopt;
  return LeaseAnswer{.answered = true,
                     .window = at(0),
                     .granted = static_cast<uint32_t>(at(1)),
                     .used = static_cast<uint32_t>(std::min<int64_t>(at(2), UINT32_MAX)),
                     .remaining = std::chrono::microseconds(at(3))};
}

struct RedisSharedWindows::Rep {
  Rep(const RedisEndpoint& endpoint, RedisSharedWindowsOptions options)
      : name(Describe(endpoint)),
        prefix(EncodePercent(options.prefix) + ":keyed:{"),
        on_change(std::move(options.on_change)),
        core(endpoint, options.client, {LoadRedisScript(kLease)}, [this] { Note({}); }) {}

  LeaseAnswer OnOutcome(const RedisOutcome& outcome, const LeaseWish& wish);
  void Note(const std::string& problem_now);

  const std::string name;
  const std::string prefix;
  const std::string sha = RedisScriptSha(kLease);
  const std::function<void(const std::string&)> on_change;
  std::atomic<uint64_t> failures{0};
  std::atomic<bool> closing{false};
  mutable Mutex mutex;
  std::string problem WEIR_GUARDED_BY(mutex);
  RedisCore core;  // last, because its destructor fails the calls that wait, which uses the members above
};

RedisSharedWindows::RedisSharedWindows(const RedisEndpoint& endpoint, RedisSharedWindowsOptions options)
    : rep_(std::make_unique<Rep>(endpoint, std::move(options))) {}

// Makes sure that calls which fail because the connections close do not cause a call of on_change.
RedisSharedWindows::~RedisSharedWindows() { rep_->closing = true; }

void RedisSharedWindows::Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) {
  const std::string key =
      rep_->prefix + EncodePercent(wish.key) + "}:" + std::to_string(std::chrono::milliseconds(wish.window).count());
  const std::string limit = std::to_string(wish.limit), grants = std::to_string(wish.grants);
  const std::string window = std::to_string(std::chrono::microseconds(wish.window).count());
  rep_->core.Submit(
      {.text = FormatRedisCommand({"EVALSHA", rep_->sha, "1", key, limit, window, grants}), .slot = RedisSlot(key)},
      [rep = rep_.get(), wish = LeaseWish{.key = {}, .window = wish.window, .grants = wish.grants},
       done = std::move(done)](const RedisOutcome& outcome) { done(rep->OnOutcome(outcome, wish)); });
}

LeaseAnswer RedisSharedWindows::Rep::OnOutcome(const RedisOutcome& outcome, const LeaseWish& wish) {
  const std::optional<LeaseAnswer> answer = IsGood(outcome) ? ParseLease(*outcome.reply, wish) : std::nullopt;
  if (answer) {
    Note({});
    return *answer;
  }
  ++failures;
  Note(IsGood(outcome) ? name + ": it answers what the script does not say" : outcome.problem);
  return {};
}

// The connections' thread calls this.
void RedisSharedWindows::Rep::Note(const std::string& problem_now) {
  bool changes = false;
  {
    const MutexLock lock(mutex);
    changes = problem.empty() != problem_now.empty();
    problem = problem_now;
  }
  if (!changes || closing) return;
  on_change(problem_now);
  if (!problem_now.empty()) core.CheckSoon();
}

SharedWindowsHealth RedisSharedWindows::Health() const {
  const RedisTopologyHealth servers = rep_->core.ServersHealth();
  const MutexLock lock(rep_->mutex);
  return {
      .answers = rep_->problem.empty(), .problem = rep_->problem, .failures = rep_->failures, .writes = servers.writes};
}

}  // namespace weir
