#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/redis/redis_script_parts.h"

namespace weir {
namespace {

static_assert(kMostOpenReservations == 100'000 && kMostExpiredAtOnce == 1'000 && kMostEnded == 10'000 &&
                  kSettledKept == std::chrono::hours(1) && kExpiredKept == kDay,
              "as in the script");

constexpr std::string_view kReservations = R"lua(
local MOST_OPEN, MOST_ENDED, AT_ONCE, FEW = 100000, 10000, 1000, 100
local EXPIRED, COMMITTED, REFUNDED = 0, 1, 2
local SETTLED_KEPT = 3600e6
local REQUESTS, TOKENS, MONEY, CALLS = 0, 1, 2, 3
local CALLS_PAUSE = 1e6
-- So many named reservations of a model are remembered after their end, as each script is told; and how often one was
-- forgotten before its time was over.
local most_named, names_lost = math.huge, 0
-- Names the models that have reservations in counts for all models. A cluster, which has names for each slot, has no
-- such counts.
local due_key = string.sub(names_key, -6) == ':names' and string.sub(names_key, 1, -6) .. 'due'

-- A reservation: deadline, time to live, requests, tokens, number of the model's entry, day, and for each count of a
-- tier: key, unit, bucket, amount, per, number of the entry. By name, where they are not 0: money, and what was told of
-- its use so far, `used` and `used_money`, whose excess was charged when it was told; `named`; and `round`, how many of
-- this token were refunded before any use. An earlier version wrote true for TOKENS and false for REQUESTS.
local function unit_of(unit)
  if unit == true then return TOKENS elseif unit == false then return REQUESTS end
  return unit
end
-- What it was charged, by unit.
local function charged_of(hold) return {[0] = hold[3], hold[4], hold.money or 0, 1} end
-- What is given back where nobody settles it: all, but for what was told of its use.
local function unused_of(hold)
  local used = hold.used or 0
  return {[0] = used > 0 and 0 or hold[3], max(0, hold[4] - used),
    max(0, (hold.money or 0) - (hold.used_money or 0)), 1}
end

-- While a slot of a cluster moves, a script fails at the first key that is not there, be it elsewhere or deleted by the
-- script itself, and the store sends the call again. So a script reads the keys before it writes anything, here those of
-- the tiers, and does not use a hash or a set again from which it may have taken the last member.
local function read_tiers(hold, tiers, now, m)
  for at = 7, #hold, 6 do
    local key, _, bucket, amount, per = spread(hold, at, at + 4)
    if not tiers[key] then tiers[key] = read_tier(key, now, epoch_of(m, key), bucket, amount, per) end
  end
end

local function write_tiers(m, tiers, now)
  for _, t in pairs(tiers) do
    if t.settled then write_tier(m, t, now, 0) end
  end
end

-- Of a bucket no more than what has not been paid off since.
local function give_back_owed(t, hold, charged, back, now)
  if back > 0 then
    local paid = floor(t.rate * max(0, now - hold[1] + hold[2]) / t.window)
    back = min(back, max(0, charged - paid))
  end
  t.owed = min(MOST, t.owed - back)
  if t.owed <= 0 then t.owed, t.paid = 0, 0 end
end

-- So much of what it charged is given back, by unit, or, below 0, charged beyond. (The day of that is the caller's.)
local function settle(m, tiers, hold, back, now)
  local requests, tokens, charged = back[REQUESTS], back[TOKENS], charged_of(hold)
  if requests > 0 or tokens > 0 then give_back(m, hold[5], max(0, requests), max(0, tokens)) end
  if requests < 0 or tokens < 0 then enter(m, now, max(0, -requests), max(0, -tokens)) end
  if requests > 0 and hold[6] == m.day and m.day_count > 0 then
    m.day_count = max(0, m.day_count - requests)
    if m.day_count == 0 then m.day_start, m.day = 0, m.day + 1 end
  end
  for at = 7, #hold, 6 do
    local key, unit, bucket, _, _, number = spread(hold, at, at + 5)
    unit = unit_of(unit)
    local t, amount = tiers[key], back[unit]
    if amount ~= 0 and (t.there or amount < 0 and not t.period) then
      if bucket then
        give_back_owed(t, hold, charged[unit], amount, now)
      elseif t.period then
        t.a = max(0, min(MOST, t.a - amount))
      elseif amount > 0 then
        give_back(t, number, amount, 0)
      else
        enter(t, now, -amount, 0)
      end
      t.settled = true
    end
  end
end

-- How a reservation ended: {how, late, tokens, kept until, what it was (to be charged late) or its tokens alone}. What
-- is in the way goes, those first whose time is over first. Named ones are counted apart: the times until which they are
-- kept stand below 0.
local function remember_end(ends, kept, token, ended, now, named)
  call('HSET', ends, token, cmsgpack.pack(ended))
  call('ZADD', kept, text(named and -ended[4] or ended[4]), token)
  local from, upto, most = '0', '+inf', MOST_ENDED
  if named then from, upto, most = '-inf', '(0', most_named end
  local too_many = call('ZCOUNT', kept, from, upto) - most
  if too_many > 0 then
    most = text(min(too_many, AT_ONCE))
    local oldest = named and call('ZREVRANGEBYSCORE', kept, upto, from, 'LIMIT', '0', most)
      or call('ZRANGEBYSCORE', kept, from, upto, 'LIMIT', '0', most)
    if named and -tonumber(call('ZSCORE', kept, oldest[#oldest])) > now then names_lost = names_lost + 1 end
    call('HDEL', ends, spread(oldest))
    call('ZREM', kept, spread(oldest))
  end
  local ttl = string.format('%.0f', max(1, ended[4] - now + SLACK) / 1000)
  call('PEXPIRE', ends, ttl, 'NX')
  call('PEXPIRE', ends, ttl, 'GT')
  call('PEXPIRE', kept, ttl, 'NX')
  call('PEXPIRE', kept, ttl, 'GT')
end

local function forget_ends(ends, kept, now)
  local over = call('ZRANGEBYSCORE', kept, text(-now), text(now), 'LIMIT', '0', AT_ONCE)
  if #over == 0 then return end
  call('HDEL', ends, spread(over))
  call('ZREM', kept, spread(over))
end

-- The clock has stepped back to m.pull_to: no reservation lives longer than from then. Of many those alone that cannot
-- have been made by then, so many in one call.
local function pull_back(m, holds, deadlines)
  local from = m.pull_to + (m.open > FEW and m.longest or 0)
  local tokens = ask('ZREVRANGEBYSCORE', deadlines, '+inf', string.format('(%.0f', from), 'LIMIT', '0', AT_ONCE)
  for _, token in ipairs(tokens) do
    local packed = ask('HGET', holds, token)
    if packed then
      local hold = cmsgpack.unpack(packed)
      hold[1] = min(hold[1], m.pull_to + hold[2])
      m.earliest = min(m.earliest, hold[1])
      call('ZADD', deadlines, string.format('%.0f', hold[1]), token)
      call('HSET', holds, token, cmsgpack.pack(hold))
    else
      call('ZREM', deadlines, token)
    end
  end
  if #tokens < AT_ONCE then m.pull_to = 0 end
end

-- The reservations whose deadline has come, or all. Many are given back in several calls: until then they count, and
-- refuse.
local function sweep(m, holds, deadlines, ends, kept, now, all)
  if m.open == 0 then return 0 end
  if m.seen > now then m.pull_to = now end
  if m.pull_to > 0 then
    pull_back(m, holds, deadlines)
    m.changed = true
  end
  if m.earliest > now and not all then return 0 end
  local found, tiers = {}, {}
  local tokens = ask('ZRANGEBYSCORE', deadlines, '-inf', all and '+inf' or text(now), 'LIMIT', '0', AT_ONCE)
  for _, token in ipairs(tokens) do
    local packed = ask('HGET', holds, token)
    if packed then
      local hold = cmsgpack.unpack(packed)
      read_tiers(hold, tiers, now, m)
      found[#found + 1] = {token, hold}
    end
  end
  for _, item in ipairs(found) do
    local hold = item[2]
    settle(m, tiers, hold, unused_of(hold), now)
    remember_end(ends, kept, item[1], {EXPIRED, 0, 0, hold[1] + DAY, hold}, now, hold.named)
  end
  write_tiers(m, tiers, now)
  m.open = call('HLEN', holds) - #found
  local next = call('ZRANGE', deadlines, #tokens, #tokens, 'WITHSCORES')
  m.earliest = next[2] and tonumber(next[2]) or 0
  if #tokens > 0 then
    call('HDEL', holds, spread(tokens))
    call('ZREM', deadlines, spread(tokens))
  end
  write_model(m, now)
  return #tokens
end

-- Gives back what has expired of all models that have reservations in counts for all models: else it would hold up
-- requests for the others. A model that cannot be read is left alone for a minute; requests for it say so.
local function sweep_due(now)
  local swept = 0
  local function sweep_model(key)
    local m, of = read_model(key, now), string.sub(key, 1, -2)
    swept = swept + sweep(m, of .. 'r', of .. 'd', of .. 'e', of .. 'k', now)
    return m.open > 0 and m.earliest > 0 and m.earliest
  end
  for _, key in ipairs(ask('ZRANGEBYSCORE', due_key, '-inf', text(now), 'LIMIT', '0', FEW)) do
    local read, next = pcall(sweep_model, key)
    if not read then next = now + MINUTE end
    if next then call('ZADD', due_key, text(next), key) else call('ZREM', due_key, key) end
    if swept >= AT_ONCE then break end
  end
  return swept
end
)lua";

}  // namespace

std::string_view RedisReservationsLua() { return kReservations; }

}  // namespace weir
