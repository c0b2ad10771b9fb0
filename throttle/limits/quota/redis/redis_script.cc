#include "throttle/limits/quota/redis/redis_script.h"

#include <string>

#include "throttle/limits/quota/redis/redis_script_parts.h"

namespace weir {
namespace {

// KEYS: the keys q, m, r, d, e and k, one key for each tier, and the two keys of names. ARGV: the reservation's token;
// the numbers.
constexpr std::string_view kCharge = R"lua(
local PEEK, TAKE, HOLD, FORCE, FORCE_HOLD = 0, 1, 2, 3, 4
-- In the order of QuotaCode.
local OK, UNLIMITED, UNKNOWN, RPD, RPM, TPM, TIER_EXCEEDED, TOO_LARGE, TOO_MANY = 0, 1, 2, 5, 6, 7, 8, 9, 10

local now, mode, requests, tokens, known, max_rpm, max_tpm, max_rpd, refuse_unknown, hold_for, before, max_models,
  max_tiers, may_name, money, may_be_again, calls, across, max_named = unpack('<ddddddddddddddddddd', ARGV[2])
most_named = max_named
if now < 0 then now = server_time() end
local holds = mode == HOLD or mode == FORCE_HOLD
local asked_of = {[0] = requests, tokens, money, calls}  -- by unit

local expired = across == 1 and sweep_due(now) or 0  -- before any of these models is read
local m = read_model(KEYS[2], now)
local stated = try('GET', KEYS[1])
if stated then
  if #stated ~= 24 then refuse_key(KEYS[1], stated) end
  m.stated = true
  known, max_rpm, max_tpm, max_rpd = 1, unpack('<ddd', stated)
end
if m.open > 0 then expired = expired + sweep(m, KEYS[3], KEYS[4], KEYS[5], KEYS[6], now) end

-- A reservation that is asked for again, and has not ended as if it had never been. Else another is made, of the next
-- round.
local again, round = nil, 0
if may_be_again == 1 then
  local packed = ask('HGET', KEYS[3], ARGV[1])
  local made, never = packed and cmsgpack.unpack(packed), false
  if not made then
    packed = ask('HGET', KEYS[5], ARGV[1])
    local ended = packed and cmsgpack.unpack(packed)
    if ended and ended[4] > now then made, never = ended[5], ended[1] == REFUNDED and ended[3] == 0 end
  end
  if made then round = (made.round or 0) + (never and 1 or 0) end
  if made and not never then again, mode = made[4], PEEK end
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

local tiers, count = {}, #KEYS - 8
for i = 1, count do
  local of, bucket, amount, per, burst, same = unpack('<dddddd', ARGV[2], 153 + (i - 1) * 48)
  local limit_of
  if same > 0 then  -- two limits with one count
    limit_of = tiers[same].limit_of
  else
    limit_of = read_tier(KEYS[6 + i], now, epoch_of(m, KEYS[6 + i]), bucket == 1, amount, per)
    -- From now on it is paid off by this limit.
    if bucket == 1 and limit_of.rate ~= amount then
      limit_of.rate = amount
      limit_of.changed = limit_of.changed or limit_of.owed > 0
    end
  end
  local asked = asked_of[of]
  -- Made in one go, for a table that grows is made anew. More tokens than were reserved may come, and cost more.
  tiers[i] = {limit_of = limit_of, of = of, amount = amount, per = per, burst = burst, same = same, asked = asked,
    needed = asked > 0 or (holds and (of == TOKENS or of == MONEY)), entered = -1}
end

local function hear_tier(i)
  local t = tiers[i]
  local count = t.limit_of
  if t.asked == 0 then return end
  if t.asked > min(MOST, count.bucket and t.burst or t.amount) then return too_large(t.of, i - 1) end
  if not count.bucket then
    local too_much = count.a + t.asked - min(MOST, t.amount)
    if too_much > 0 then
      refuse(TIER_EXCEEDED, t.of == CALLS and CALLS_PAUSE or count.period and max(1, t.per - now)
        or until_fits(count, false, too_much), i - 1)
    end
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
if again then
  code, tier, unit, wait = OK, nil, nil, nil  -- whatever the limits say by now
elseif fits then
  code = OK
  if known == 0 then code = UNKNOWN elseif max_rpm == 0 and max_tpm == 0 and max_rpd == 0 then code = UNLIMITED end
end

-- Names and reservations are bounded: is there room? By force goes what there is room for.
local goes = not again and (mode >= FORCE or fits and not (code == UNKNOWN and refuse_unknown == 1))
local room, skipped, new, full = true, 0, 0, -1
if goes and (requests > 0 or tokens > 0 or holds) then
  if holds and m.open >= MOST_OPEN then room = false end
  if known == 0 and not m.there then
    local models = call('ZCOUNT', models_key, '(' .. text(now), '(' .. text(STATED))
    room, new, full = room and models < max_models and may_name == 1, 1, (models + 1) / max_models
  end
  local left
  for i = 1, count do
    local t = tiers[i]
    if t.needed and t.same == 0 and not t.limit_of.there then
      left = (left or max_tiers - names_held(now).all) - 1
      full = max(full, 1 - left / max_tiers)
      if left >= 0 and may_name == 1 then new = new + 1 else t.needed, skipped = false, skipped + 1 end
    end
  end
  if fits and not (room and skipped == 0) then code = TOO_MANY end
end
local charges = mode ~= PEEK and goes and room and (skipped == 0 or mode >= FORCE)
local dropped = mode >= FORCE and (room and skipped or 1) or 0

local number = -1
if charges then
  -- The sweep may have taken the last reservation; see read_tiers. Each by itself, because the server that a slot moves
  -- to refuses a command with several keys if one is missing.
  if holds and expired > 0 then call('EXISTS', KEYS[3]); call('EXISTS', KEYS[4]) end
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
    if money > 0 then hold.money = money end
  end
  for i = 1, count do
    local t = tiers[i]
    if t.same == 0 and (t.needed or t.limit_of.changed) then
      local count = t.limit_of
      if count.bucket then
        count.owed = min(MOST, count.owed + t.asked)
      elseif count.period then
        count.a = min(MOST, count.a + t.asked)
      elseif t.asked > 0 then
        t.entered = enter(count, now, t.asked, 0)
      end
      write_tier(m, count, now, deadline)
      if hold then
        local n = #hold
        hold[n + 1], hold[n + 2], hold[n + 3], hold[n + 4] = KEYS[6 + i], t.of, count.bucket, t.amount
        hold[n + 5], hold[n + 6] = t.per, t.entered
        counts_until = max(counts_until, count.kept_until)
      end
    end
  end
  if hold then
    if may_be_again == 1 then
      hold.named = 1
      if round > 0 then hold.round = round end
      call('HDEL', KEYS[5], ARGV[1])
      call('ZREM', KEYS[6], ARGV[1])
    end
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
    if across == 1 then
      call('ZADD', due_key, 'LT', text(deadline), KEYS[2])
      keep_until(due_key, m.holds_kept_until, now)
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

-- What is used, and where it was entered, for whoever gives it back.
local told = {number, m.day}
for i = 1, count do
  local t = tiers[i]
  local of = t.limit_of
  told[2 * i + 1], told[2 * i + 2] = of.bucket and of.owed or min(MOST, of.a), t.entered
end
told[#told + 1] = round
return pack('<ddddddddddddddddddddd', now, code, tier or -1, unit or 0, wait or -1, known, max_rpm, max_tpm, max_rpd,
  min(MOST, m.a), min(MOST, m.b), m.day_count, m.day_start, m.open, charges and 1 or 0, expired, dropped,
  charges and new or 0, full, again or -1, names_lost)
  .. pack('<' .. string.rep('d', #told), spread(told))
)lua";

// KEYS: the keys q, m, r, d, e and k, and the two keys of names. ARGV: the change of the quota ('keep', 'none', or
// three packed numbers); the new log of the model, '' for none, or 'counts' to keep the log; how many ms to keep the
// log; the score that says whether a configuration stated the quota; the time or -1. Unless the log is kept, it gets
// another epoch, so the tier counters become void. Counters for all models stay. So the script first releases what the
// open reservations have charged there, in each call for a part of the reservations. While some are left, the reply is
// their number, and the script does nothing else. At the end the reply is 0.
constexpr std::string_view kReset = R"lua(
if ARGV[2] ~= 'counts' then
  if due_key and ask('ZSCORE', due_key, KEYS[2]) then
    local now = unpack('<d', ARGV[5])
    if now < 0 then now = server_time() end
    local m = read_model(KEYS[2], now)
    if sweep(m, KEYS[3], KEYS[4], KEYS[5], KEYS[6], now, true) > 0 and m.open > 0 then return m.open end
    call('ZREM', due_key, KEYS[2])
  end
  call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])
  call('ZREM', models_key, string.sub(KEYS[2], 1, -2) .. 't')
  if ARGV[2] ~= '' then
    call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
    call('SETRANGE', KEYS[2], 136, pack('<d', born or server_time()))
  end
end
if ARGV[1] == 'none' then call('DEL', KEYS[1]) elseif ARGV[1] ~= 'keep' then call('SET', KEYS[1], ARGV[1]) end
local kept_until = call('GETRANGE', KEYS[2], 48, 55)
if ARGV[1] ~= 'keep' and ARGV[1] ~= 'none' then
  call('ZADD', models_key, ARGV[4], KEYS[2])
  call('PERSIST', models_key)
elseif ARGV[1] == 'none' or call('EXISTS', KEYS[1]) == 0 then
  if kept_until == '' then
    call('ZREM', models_key, KEYS[2])
  else
    call('ZADD', models_key, text((unpack('<d', kept_until))), KEYS[2])
  end
end
return 0
)lua";

}  // namespace

std::string_view RedisChargeScript() {
  static const std::string kScript = std::string(RedisCountsLua()).append(RedisReservationsLua()).append(kCharge);
  return kScript;
}

std::string_view RedisResetScript() {
  static const std::string kScript = std::string(RedisCountsLua()).append(RedisReservationsLua()).append(kReset);
  return kScript;
}

}  // namespace weir
