#include "throttle/quota/redis/redis_script.h"

#include <openssl/evp.h>

#include <array>
#include <string>

#include "throttle/quota/redis/redis_script_common.h"

namespace weir {
namespace {

// KEYS: q, m, r, d, and one for each tier. ARGV: the reservation's token; the numbers.
constexpr std::string_view kCharge = R"lua(
local PEEK, TAKE, HOLD, FORCE, FORCE_HOLD = 0, 1, 2, 3, 4
-- In the order of QuotaCode.
local OK, UNLIMITED, UNKNOWN, RPD, RPM, TPM, TIER_EXCEEDED, TOO_LARGE, TOO_MANY = 0, 1, 2, 5, 6, 7, 8, 9, 10

local now, mode, requests, tokens, known, max_rpm, max_tpm, max_rpd, refuse_unknown, hold_for, before, max_keys =
  unpack('<dddddddddddd', ARGV[2])
if now < 0 then now = server_time() end
local holds = mode == HOLD or mode == FORCE_HOLD

local m = read_model(KEYS[2], now)
local stated = try('GET', KEYS[1])
if stated then
  if #stated ~= 24 then refuse_key(KEYS[1], stated) end
  known, max_rpm, max_tpm, max_rpd = 1, unpack('<ddd', stated)
end
local expired = m.open > 0 and sweep(m, KEYS[3], KEYS[4], now) or 0

-- What the limits say: the first that refuses, the longest wait, and before all what can never fit.
local code, tier, unit, wait
local function refuse(why, until_then, which)
  if code == TOO_LARGE then return end
  if not code then code, tier = why, which end
  wait = max(wait or 0, until_then)
end
local function too_large(of, which)
  if code ~= TOO_LARGE then code, tier, unit, wait = TOO_LARGE, which, of, nil end
end
-- Of requests, or of tokens (by_b).
local function until_fits(log, by_b, too_much)
  for at = log.head, log.tail - 1 do
    local last, a, b = entry(log, at)
    too_much = too_much - (by_b and b or a)
    if too_much <= 0 then return last + log.window - now end
  end
  return log.window
end

local tiers, count = {}, #KEYS - 4
for i = 1, count do
  local of_tokens, bucket, amount, per, burst, same = unpack('<dddddd', ARGV[2], 97 + (i - 1) * 48)
  local t
  if same > 0 then  -- two limits with one count
    t = {limit_of = tiers[same].limit_of}
  else
    t = {limit_of = read_tier(KEYS[4 + i], now, m.epoch, bucket == 1, amount, per)}
    -- From now on it is paid off by this limit.
    if bucket == 1 and t.limit_of.rate ~= amount then
      t.limit_of.rate = amount
      t.limit_of.changed = t.limit_of.changed or t.limit_of.owed > 0
    end
  end
  t.of, t.amount, t.per, t.burst, t.same = of_tokens, amount, per, burst, same
  t.asked = of_tokens == 1 and tokens or requests
  t.needed = t.asked > 0 or (holds and of_tokens == 1)  -- more tokens than were reserved may come
  tiers[i] = t
end

local function hear_tier(i)
  local t = tiers[i]
  local count = t.limit_of
  if t.asked == 0 then return end
  if t.asked > min(MOST, count.bucket and t.burst or t.amount) then return too_large(t.of, i - 1) end
  if not count.bucket then
    local too_much = count.a + t.asked - min(MOST, t.amount)
    if too_much > 0 then refuse(TIER_EXCEEDED, until_fits(count, false, too_much), i - 1) end
  elseif count.owed + t.asked > t.burst then
    local missing = (count.owed + t.asked - t.burst) * t.per - count.paid
    local time = floor(missing / t.amount)
    if time * t.amount < missing then time = time + 1 end
    refuse(TIER_EXCEEDED, time, i - 1)
  end
end

for i = 1, before do hear_tier(i) end
if known == 1 then
  if requests > 0 then
    if max_rpd > 0 and m.day_count + requests > max_rpd then refuse(RPD, m.day_start + DAY - now, -1) end
    if max_rpm > 0 and m.a + requests > max_rpm then refuse(RPM, until_fits(m, false, m.a + requests - max_rpm), -1) end
  end
  if tokens > 0 and max_tpm > 0 then
    max_tpm = min(MOST, max_tpm)
    if tokens > max_tpm then
      too_large(1, -1)
    elseif m.b + tokens > max_tpm then
      refuse(TPM, until_fits(m, true, m.b + tokens - max_tpm), -1)
    end
  end
end
for i = before + 1, count do hear_tier(i) end

local fits = not code
if fits then
  code = OK
  if known == 0 then code = UNKNOWN elseif max_rpm == 0 and max_tpm == 0 and max_rpd == 0 then code = UNLIMITED end
end

-- Names and reservations are bounded: is there room? By force goes what there is room for.
local goes = mode >= FORCE or (fits and not (code == UNKNOWN and refuse_unknown == 1))
local room, skipped = true, 0
if goes and (requests > 0 or tokens > 0 or holds) then
  if holds and m.open >= MOST_OPEN then room = false end
  local left
  local function take_one()
    left = (left or max_keys - call('DBSIZE')) - 1
    return left >= 0
  end
  if known == 0 and not m.there and not take_one() then room = false end
  for i = 1, count do
    local t = tiers[i]
    if t.needed and t.same == 0 and not t.limit_of.there and not take_one() then
      t.needed, skipped = false, skipped + 1
    end
  end
  if fits and not (room and skipped == 0) then code = TOO_MANY end
end
local charges = mode ~= PEEK and goes and room and (skipped == 0 or mode >= FORCE)
local dropped = mode >= FORCE and (room and skipped or 1) or 0

if charges then
  local number = -1
  if requests > 0 or tokens > 0 then number = enter(m, now, requests, tokens) end
  if requests > 0 then
    if m.day_count == 0 then m.day_start = now end
    m.day_count = min(MOST, m.day_count + requests)
  end
  local deadline, counts_until = 0, now + (m.day_count > 0 and DAY or MINUTE)
  local hold
  if holds then
    deadline = now + hold_for
    hold = {deadline, hold_for, requests, tokens, number, m.day}
  end
  for i = 1, count do
    local t = tiers[i]
    if t.same == 0 and (t.needed or t.limit_of.changed) then
      local count, number = t.limit_of, -1
      if count.bucket then
        count.owed = min(MOST, count.owed + t.asked)
      elseif t.asked > 0 then
        number = enter(count, now, t.asked, 0)
      end
      write_tier(m, count, now, deadline)
      if hold then
        local n = #hold
        hold[n + 1], hold[n + 2], hold[n + 3], hold[n + 4] = KEYS[4 + i], t.of == 1, count.bucket, t.amount
        hold[n + 5], hold[n + 6] = t.per, number
        counts_until = max(counts_until, count.kept_until)
      end
    end
  end
  if hold then
    call('HSET', KEYS[3], ARGV[1], cmsgpack.pack(hold))
    call('ZADD', KEYS[4], string.format('%.0f', deadline), ARGV[1])
    m.open = m.open + 1
    if m.earliest == 0 or deadline < m.earliest then m.earliest = deadline end
    m.longest = m.open == 1 and hold_for or max(m.longest, hold_for)
    -- As long as there is something to be given back: whoever comes then finds it.
    local needed = max(deadline, counts_until) + SLACK
    if m.open == 1 or m.holds_kept_until < needed then
      m.holds_kept_until = needed + hold_for + SLACK
      local ttl = string.format('%.0f', (m.holds_kept_until - now) / 1000)
      call('PEXPIRE', KEYS[3], ttl)
      call('PEXPIRE', KEYS[4], ttl)
    end
  end
  write_model(m, now)
else  -- that the clock has stepped back is kept all the same, as is another limit of a bucket
  for i = 1, count do
    local t = tiers[i]
    if t.limit_of.changed then write_tier(m, t.limit_of, now, 0) end
  end
  if m.changed or m.tiers_until > 0 then write_model(m, now) end
end

local used = {}
for i = 1, count do
  local t = tiers[i]
  local count = t.limit_of
  if count.bucket then
    used[i] = count.owed
  else
    used[i] = min(MOST, count.a)
  end
end
return pack('<ddddddddddddddddd', now, code, tier or -1, unit or 0, wait or -1, known, max_rpm, max_tpm, max_rpd,
  min(MOST, m.a), min(MOST, m.b), m.day_count, m.day_start, m.open, charges and 1 or 0, expired, dropped)
  .. pack('<' .. string.rep('d', count), spread(used))
)lua";

// KEYS: q, m, r, d. ARGV: the reservation's token; the time or -1, whether it is refunded, the tokens.
constexpr std::string_view kSettle = R"lua(
local now, refund, used = unpack('<ddd', ARGV[2])
if now < 0 then now = server_time() end
local m = read_model(KEYS[2], now)
local expired = m.open > 0 and sweep(m, KEYS[3], KEYS[4], now) or 0
local packed = ask('HGET', KEYS[3], ARGV[1])
if not packed then
  if m.changed then write_model(m, now) end
  return pack('<ddddd', 0, 0, 0, expired, 0)
end
local hold, tiers = cmsgpack.unpack(packed), {}
if m.pull_to > 0 then hold[1] = min(hold[1], m.pull_to + hold[2]) end
read_tiers(hold, tiers, now, m.epoch)
local late = hold[1] <= now  -- one of many that have expired
if late or refund == 1 then
  settle(m, tiers, hold, hold[3], hold[4], now)
else
  settle(m, tiers, hold, 0, hold[4] - used, now)
end
write_tiers(m, tiers, now)
call('HDEL', KEYS[3], ARGV[1])
call('ZREM', KEYS[4], ARGV[1])
m.open = call('HLEN', KEYS[3])
if m.open == 0 then m.earliest = 0 end
write_model(m, now)
if late then return pack('<ddddd', 0, 0, 0, expired + 1, 0) end
return pack('<ddddd', 1, hold[4], used, expired, hold[1] - now)
)lua";

// KEYS: q, m, r, d. ARGV: how the quota changes: 'keep', 'none', or three numbers (packed); what the model's log is
// from now on, '', or 'counts': it stays; for how many ms. The counts of tiers are of another epoch then, and void.
constexpr std::string_view kReset = R"lua(
local call, time = redis.call, redis.call('TIME')
if ARGV[1] == 'none' then call('DEL', KEYS[1]) elseif ARGV[1] ~= 'keep' then call('SET', KEYS[1], ARGV[1]) end
if ARGV[2] ~= 'counts' then
  call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
  if ARGV[2] ~= '' then
    call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
    call('SETRANGE', KEYS[2], 136, struct.pack('<d', time[1] * 1000000 + time[2]))
  end
end
return 1
)lua";

// KEYS: q, m, r, d, and counts of tiers. ARGV: the time or -1, and for each of them whether it is a bucket, and its
// window. Whether something counts in one of them.
constexpr std::string_view kTiers = R"lua(
local now = unpack('<d', ARGV[1])
if now < 0 then now = server_time() end
local m = read_model(KEYS[2], now)
for i = 5, #KEYS do
  local bucket, window = unpack('<dd', ARGV[1], 9 + (i - 5) * 16)
  local t = read_tier(KEYS[i], now, m.epoch, bucket == 1, 1, window)
  if (bucket == 1 and t.owed or t.a) > 0 then return 1 end
end
return 0
)lua";

// A script that says of itself what it is (#!) and not that it only reads is asked before it begins: out of memory,
// without a disk or replicas that must be there, or as a replica, the server refuses it. It needs no key: on a cluster
// each node takes it, whatever its slots.
constexpr std::string_view kProbe = "#!lua\nreturn 1";

}  // namespace

std::string_view RedisChargeScript() {
  static const std::string kScript = std::string(RedisCommonLua()) + std::string(kCharge);
  return kScript;
}

std::string_view RedisSettleScript() {
  static const std::string kScript = std::string(RedisCommonLua()) + std::string(kSettle);
  return kScript;
}

std::string_view RedisResetScript() { return kReset; }

std::string_view RedisTiersScript() {
  static const std::string kScript = std::string(RedisCommonLua()) + std::string(kTiers);
  return kScript;
}

std::string_view RedisProbeScript() { return kProbe; }

std::string RedisScriptSha(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha1(), nullptr);
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) text.append({kHex[digest[i] >> 4], kHex[digest[i] & 15]});
  return text;
}

}  // namespace weir
