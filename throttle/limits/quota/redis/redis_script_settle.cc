#include <string>

#include "throttle/limits/quota/redis/redis_script.h"
#include "throttle/limits/quota/redis/redis_script_parts.h"

namespace weir {
namespace {

// KEYS: the keys q, m, r, d, e and k, and the two keys of names. ARGV: the reservation's token; the time or -1, whether
// no tokens are given (a refund, or only an extension), the tokens, the time from now to the new deadline (0: no
// extension), the money, the most named ends to remember, and the reservation's round.
constexpr std::string_view kSettle = R"lua(
local SETTLED, UNKNOWN, OTHERWISE, HAS_EXPIRED = 0, 1, 3, 4
local now, refund, used, extend, money, max_named, round = unpack('<ddddddd', ARGV[2])
most_named = max_named
if now < 0 then now = server_time() end
local holds, deadlines, ends, kept, token = KEYS[3], KEYS[4], KEYS[5], KEYS[6], ARGV[1]
local how_now = refund == 1 and REFUNDED or COMMITTED
local m = read_model(KEYS[2], now)
local expired = m.open > 0 and sweep(m, holds, deadlines, ends, kept, now) or 0
local function answer(code, reserved, actual, left, refunded, late, again)
  return pack('<ddddddddd', code, reserved, actual, expired, left, refunded and 1 or 0, late, again, names_lost)
end
local packed, tiers = ask('HGET', holds, token), {}
local hold = packed and cmsgpack.unpack(packed)
if hold and m.pull_to > 0 then hold[1] = min(hold[1], m.pull_to + hold[2]) end
packed = not hold and ask('HGET', ends, token)
local ended = packed and cmsgpack.unpack(packed) or nil
if ended and ended[4] <= now then ended = nil end

-- One of an earlier round was refunded before any use.
local of = hold or ended and ended[5]
if of and round ~= (of.round or 0) then
  if m.changed then write_model(m, now) end
  if round > (of.round or 0) then return answer(UNKNOWN, 0, 0, 0, false, 0, 0) end
  local same = refund == 1 and extend == 0
  return answer(same and SETTLED or OTHERWISE, of[4], 0, 0, true, 0, same and 1 or 0)
end

local function drop_hold()
  m.open = call('HLEN', holds) - 1
  call('HDEL', holds, token)
  call('ZREM', deadlines, token)
  if m.open == 0 then m.earliest = 0 end
end
local function remember_settled(of, late)
  local was = {0, 0, 0, of[4], named = of.named, round = of.round}
  local ended = {how_now, late, used, now + (of.named and DAY or SETTLED_KEPT), was}
  remember_end(ends, kept, token, ended, now, of.named)
end

if hold and hold[1] > now then
  local left, reserved = hold[1] - now, hold[4]
  -- What is used beyond what counts already, below 0.
  local function beyond(charged, told, so_far) return min(0, max(charged, told) - so_far) end
  local told, told_money = hold.used or 0, hold.used_money or 0
  used, money = max(used, told), max(money, told_money)
  local more, more_money = beyond(reserved, told, used), beyond(hold.money or 0, told_money, money)
  if extend > 0 then
    if refund == 0 then
      read_tiers(hold, tiers, now, m)
      settle(m, tiers, hold, {[0] = 0, more, more_money, 0}, now)
      write_tiers(m, tiers, now)
      if used > 0 then hold.used, hold.used_money = used, money > 0 and money or nil end
      call('HSET', holds, token, cmsgpack.pack(hold))
      write_model(m, now)
    end
    if extend > left then
      hold[1], hold[2] = now + extend, hold[2] + extend - left
      call('HSET', holds, token, cmsgpack.pack(hold))
      call('ZADD', deadlines, string.format('%.0f', hold[1]), token)
      m.longest = max(m.longest, hold[2])
      m.holds_kept_until = max(m.holds_kept_until, hold[1] + DAY + SLACK)
      local ttl = string.format('%.0f', (m.holds_kept_until - now) / 1000)
      call('PEXPIRE', holds, ttl)
      call('PEXPIRE', deadlines, ttl)
      write_model(m, now)
    end
    return answer(SETTLED, reserved, used, left, false, 0, 0)
  end
  read_tiers(hold, tiers, now, m)
  if refund == 0 then hold.used, hold.used_money = used, money end
  local back = unused_of(hold)
  if refund == 0 then back[REQUESTS], back[TOKENS], back[MONEY] = 0, back[TOKENS] + more, back[MONEY] + more_money end
  settle(m, tiers, hold, back, now)
  write_tiers(m, tiers, now)
  drop_hold()
  remember_settled(hold, 0)
  forget_ends(ends, kept, now)
  write_model(m, now)
  return answer(SETTLED, reserved, used, left, refund == 1, 0, 0)
end

if hold then  -- one of many that have expired
  read_tiers(hold, tiers, now, m)
  settle(m, tiers, hold, unused_of(hold), now)
  drop_hold()
  ended, expired = {EXPIRED, 0, 0, hold[1] + DAY, hold}, expired + 1
  if ended[4] <= now then ended = nil end
end
if not ended or ended[1] ~= EXPIRED or extend > 0 then
  write_tiers(m, tiers, now)
  if ended and ended[1] == EXPIRED and hold then remember_end(ends, kept, token, ended, now, hold.named) end
  if hold or m.changed then write_model(m, now) end
  if not ended then return answer(UNKNOWN, 0, 0, 0, false, 0, 0) end
  if ended[1] == EXPIRED then return answer(HAS_EXPIRED, ended[5][4], 0, 0, false, 0, 0) end
  local same = extend == 0 and ended[1] == how_now and (refund == 1 or ended[3] == used)
  return answer(same and SETTLED or OTHERWISE, ended[5][4], ended[3], 0, ended[1] == REFUNDED, ended[2], same and 1 or 0)
end
hold = ended[5]
read_tiers(hold, tiers, now, m)
used = max(used, hold.used or 0)
if refund == 0 then
  local requests = (hold.used or 0) > 0 and 0 or hold[3]
  settle(m, tiers, hold, {[0] = -requests, (hold.used or 0) - used, min(0, (hold.used_money or 0) - money), 0}, now)
  if requests > 0 then
    if m.day_count == 0 then m.day_start = now end
    m.day_count = min(MOST, m.day_count + requests)
  end
end
write_tiers(m, tiers, now)
remember_settled(hold, 1)
forget_ends(ends, kept, now)
write_model(m, now)
return answer(SETTLED, hold[4], used, 0, refund == 1, 1, 0)
)lua";

// Releases a take whose answer came too late. KEYS and ARGV are those of the charge, followed by three arguments: the
// time or -1; a token under which the release is remembered, so that repeating it changes nothing; and the reply to the
// charge.
constexpr std::string_view kGiveBack = R"lua(
local _, _, requests, tokens = unpack('<dddd', ARGV[2])
local money = unpack('<d', ARGV[2], 113)
most_named = unpack('<d', ARGV[2], 145)
local now, token, answered = unpack('<d', ARGV[3]), ARGV[4], ARGV[5]
if now < 0 then now = server_time() end
local holds, deadlines, ends, kept = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local function answer(expired) return pack('<ddddddddd', 0, tokens, 0, expired, 0, 1, 0, 0, names_lost) end
local m = read_model(KEYS[2], now)
if not m.there or ask('HGET', ends, token) then return answer(0) end
local expired = m.open > 0 and sweep(m, holds, deadlines, ends, kept, now) or 0

-- As a reservation that was made then.
local number, day = unpack('<dd', answered, 169)
local hold, tiers, count = {unpack('<d', answered), 0, requests, tokens, number, day}, {}, #KEYS - 8
for i = 1, count do
  local unit, bucket, amount, per, _, same = unpack('<dddddd', ARGV[2], 153 + (i - 1) * 48)
  if same == 0 then
    local n = #hold
    hold[n + 1], hold[n + 2], hold[n + 3], hold[n + 4] = KEYS[6 + i], unit, bucket == 1, amount
    hold[n + 5], hold[n + 6] = per, unpack('<d', answered, 193 + (i - 1) * 16)
  end
end
read_tiers(hold, tiers, now, m)
hold.money = money
settle(m, tiers, hold, {[0] = requests, tokens, money, 0}, now)
write_tiers(m, tiers, now)
remember_end(ends, kept, token, {REFUNDED, 0, 0, now + SETTLED_KEPT, {0, 0, 0, tokens}}, now)
forget_ends(ends, kept, now)
write_model(m, now)
return answer(expired)
)lua";

std::string ScriptOf(std::string_view script) {
  return std::string(RedisCountsLua()).append(RedisReservationsLua()).append(script);
}

}  // namespace

std::string_view RedisSettleScript() {
  static const std::string kScript = ScriptOf(kSettle);
  return kScript;
}

std::string_view RedisGiveBackScript() {
  static const std::string kScript = ScriptOf(kGiveBack);
  return kScript;
}

}  // namespace weir
