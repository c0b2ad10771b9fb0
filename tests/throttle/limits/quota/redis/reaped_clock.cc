#include "tests/throttle/limits/quota/redis/reaped_clock.h"

#include <stdexcept>
#include <string>

namespace weir {
namespace {

const std::string kReap = R"lua(
local step = tonumber(ARGV[1])
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= step then redis.call('DEL', key) else redis.call('PEXPIRE', key, string.format('%.0f', left - step)) end
  end
end
return 1
)lua";

}  // namespace

WallTime ReapedClock::Now() const {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.Now();
  // A rest of less than a millisecond is left for the next call.
  const auto step = std::chrono::duration_cast<std::chrono::milliseconds>(now - seen_);
  if (step.count() == 0) return now;
  seen_ += step;
  const RedisAnswer answer = server_.Command({"EVAL", kReap, "0", std::to_string(step.count())});
  if (!answer.ok()) throw std::runtime_error("cannot reap: " + answer.text);
  return now;
}

}  // namespace weir
