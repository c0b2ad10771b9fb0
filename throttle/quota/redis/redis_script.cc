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

local m = read_model(KEYS[2], now)
local expired = 0
if m.open > 0 and (m.earliest <= now or m.seen > now) then
  expired = sweep(m, KEYS[3], KEYS[4], now)
end

local resets, stated = 0, call('GET', KEYS[1])
if stated then
  local known_there, rpm, tpm, rpd
  known_there, rpm, tpm, rpd, resets = unpack('<ddddd', stated)
  if known_there == 1 then known, max_rpm, max_tpm, max_rpd = 1, rpm, tpm, rpd end
end

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
    t = {limit_of = read_tier(KEYS[4 + i], now, resets, bucket == 1, amount, per, burst)}
  end
  t.of, t.amount, t.per, t.burst, t.same = of_tokens, amount, per, burst, same
  t.asked = of_tokens == 1 and tokens or requests
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
  elseif count.whole < t.asked then
    local missing = (t.asked - count.whole) * t.per - count.part
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
local charges = mode >= FORCE or (mode ~= PEEK and fits and not (code == UNKNOWN and refuse_unknown == 1))

local dropped = 0
if charges and max_keys > 0 then  -- names are bounded: is there room for new keys?
  local news = m.there and 0 or 1
  for i = 1, count do
    if not tiers[i].limit_of.there and tiers[i].same == 0 and tiers[i].asked > 0 then news = news + 1 end
  end
  if news > 0 and call('DBSIZE') + news > max_keys then
    if fits then code, fits = TOO_MANY, false end
    charges, dropped = false, 1
  end
end

if charges then
  local number = -1
  if requests > 0 or tokens > 0 then number = enter(m, now, requests, tokens) end
  if requests > 0 then
    if m.day_count == 0 then m.day_start = now end
    m.day_count = min(MOST, m.day_count + requests)
  end
  local holds = mode == HOLD or mode == FORCE_HOLD
  local hold = holds and {now + hold_for, hold_for, requests, tokens, number, m.day, resets}
  for i = 1, count do
    local t = tiers[i]
    if t.same == 0 then
      local count, number = t.limit_of, -1
      if t.asked > 0 then
        if count.bucket then
          count.whole = max(-MOST, count.whole - t.asked)
        else
          number = enter(count, now, t.asked, 0)
        end
        write_tier(count, now, t.amount, t.burst)
      end
      if hold then
        local n = #hold
        hold[n + 1], hold[n + 2], hold[n + 3], hold[n + 4] = KEYS[4 + i], t.of == 1, count.bucket, t.amount
        hold[n + 5], hold[n + 6], hold[n + 7] = t.per, t.burst, number
      end
    end
  end
  if hold then
    local deadline = hold[1]
    call('HSET', KEYS[3], ARGV[1], cmsgpack.pack(hold))
    call('ZADD', KEYS[4], string.format('%.0f', deadline), ARGV[1])
    m.open = m.open + 1
    if m.earliest == 0 or deadline < m.earliest then m.earliest = deadline end
    if m.open == 1 or m.holds_kept_until < deadline + SLACK then
      m.holds_kept_until = deadline + 2 * hold_for + 2 * SLACK
      local ttl = string.format('%.0f', (m.holds_kept_until - now) / 1000)
      call('PEXPIRE', KEYS[3], ttl)
      call('PEXPIRE', KEYS[4], ttl)
    end
  end
  write_model(m, now)
else  -- that the clock has stepped back is kept all the same: it may step forward again
  if m.pulled_back then write_model(m, now) end
  for i = 1, count do
    local t = tiers[i]
    if t.limit_of.pulled_back then write_tier(t.limit_of, now, t.amount, t.burst) end
  end
end

local used = {}
for i = 1, count do
  local t = tiers[i]
  local count = t.limit_of
  if count.bucket then
    used[i] = min(MOST, t.burst - count.whole)
  else
    used[i] = min(MOST, count.a)
  end
end
return pack('<ddddddddddddddddd', now, code, tier or -1, unit or 0, wait or -1, known, max_rpm, max_tpm, max_rpd,
  min(MOST, m.a), min(MOST, m.b), m.day_count, m.day_start, m.open, charges and 1 or 0, expired, dropped)
  .. pack('<' .. string.rep('d', count), spread(used))
)lua";

// KEYS: q, m, r, d. ARGV: the reservation's token; the time or -1, and the tokens or -1 for a refund.
constexpr std::string_view kSettle = R"lua(
local now, used = unpack('<dd', ARGV[2])
if now < 0 then now = server_time() end
local m = read_model(KEYS[2], now)
local expired = sweep(m, KEYS[3], KEYS[4], now)
local packed = call('HGET', KEYS[3], ARGV[1])
if not packed then return pack('<dddd', 0, 0, 0, expired) end
local hold = cmsgpack.unpack(packed)
call('HDEL', KEYS[3], ARGV[1])
call('ZREM', KEYS[4], ARGV[1])
m.open = max(0, m.open - 1)
if m.open == 0 then m.earliest = 0 end
if used < 0 then settle(m, hold, hold[3], hold[4], now) else settle(m, hold, 0, hold[4] - used, now) end
write_model(m, now)
return pack('<dddd', 1, hold[4], max(0, used), expired)
)lua";

// KEYS: q, m, r, d. ARGV: how the quota changes: 'keep', 'none', or five numbers (packed); what the model's log is from
// now on, or ''; for how many ms. The counts of tiers before it are void.
constexpr std::string_view kReset = R"lua(
local known, rpm, tpm, rpd, resets = 0, 0, 0, 0, 0
local text = redis.call('GET', KEYS[1])
if text then known, rpm, tpm, rpd, resets = struct.unpack('<ddddd', text) end
if ARGV[1] == 'none' then known, rpm, tpm, rpd = 0, 0, 0, 0 end
if ARGV[1] ~= 'none' and ARGV[1] ~= 'keep' then known, rpm, tpm, rpd = struct.unpack('<dddd', ARGV[1]) end
if ARGV[2] ~= 'counts' then
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
  resets = resets + 1
  if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
end
redis.call('SET', KEYS[1], struct.pack('<ddddd', known, rpm, tpm, rpd, resets))
-- That there were resets must be known for as long as a count of a tier may live; what was stated, for ever.
if known == 0 then redis.call('PEXPIRE', KEYS[1], resets == 0 and 1 or 2 * 366 * 86400 * 1000) end
return 1
)lua";

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
