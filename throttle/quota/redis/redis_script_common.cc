#include "throttle/quota/redis/redis_script_common.h"

namespace weir {
namespace {

// What both scripts need. A script runs from its top each time: so it is straight, and makes few functions.
constexpr std::string_view kCommon = R"lua(
local MOST, EXACT_NUMBERS = 1e15, 9007199254740992
local RING, EXACT, ENTRY = 128, 60, 24
local MODEL, TIER = 136, 88  -- bytes of the headers
local MINUTE, DAY, SLACK = 60e6, 86400e6, 120e6
local call, pack, spread, unpack = redis.call, struct.pack, unpack, struct.unpack
local min, max, floor = math.min, math.max, math.floor

local function server_time()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A log: {key, base (bytes of its header), window, head, tail, first, last, a, b, oldest, newest_a, newest_b}. a and b
-- are the sums, oldest the time of the oldest entry. Entries are read one by one: Lua hashes each string whole, and the
-- ring would cost more than all else.
local function entry(log, at)
  local place = log.base + at % RING * ENTRY
  return unpack('<ddd', call('GETRANGE', log.key, place, place + ENTRY - 1))
end

-- What has left goes, and what lies in the future counts as of now.
local function advance(log, now)
  local head, tail, window = log.head, log.tail, log.window
  if head == tail then return end
  if log.last > now then
    for at = tail - 1, head, -1 do
      if (entry(log, at)) <= now then break end
      call('SETRANGE', log.key, log.base + at % RING * ENTRY, pack('<d', now))
    end
    log.last, log.first, log.oldest, log.pulled_back = now, min(log.first, now), min(log.oldest, now), true
  end
  if log.oldest + window > now then return end
  local a, b, inexact = log.a, log.b, log.a >= EXACT_NUMBERS or log.b >= EXACT_NUMBERS
  local last, entry_a, entry_b = entry(log, head)
  while last + window <= now do
    a, b, head = a - entry_a, b - entry_b, head + 1
    if head == tail then break end
    last, entry_a, entry_b = entry(log, head)
  end
  if inexact then  -- sums of what only kForce can charge: added anew, they come back to exact ones
    a, b = 0, 0
    for at = head, tail - 1 do
      local _, entry_a, entry_b = entry(log, at)
      a, b = a + entry_a, b + entry_b
    end
  end
  log.head, log.oldest, log.a, log.b = head, last, a, b
end

-- Its number. Entries beyond EXACT become one with the newest while that is younger than the granule, as of now.
local function enter(log, now, a, b)
  local size, at = log.tail - log.head, log.tail
  if size >= EXACT and (now - log.first < log.window / EXACT or size >= RING - 1) then
    at = at - 1
    local was_a, was_b = log.newest_a, log.newest_b
    a, b = min(MOST, was_a + a), min(MOST, was_b + b)
    log.a, log.b = log.a + a - was_a, log.b + b - was_b
  else
    log.a, log.b, log.tail, log.first = log.a + a, log.b + b, at + 1, now
    if size == 0 then log.oldest = now end
  end
  log.last, log.newest_a, log.newest_b = now, a, b
  call('SETRANGE', log.key, log.base + at % RING * ENTRY, pack('<ddd', now, a, b))
  return at
end

-- As if so much had not been entered, where it still counts.
local function give_back(log, at, a, b)
  if at < log.head or at >= log.tail then return end
  local last, entry_a, entry_b = entry(log, at)
  a, b = min(a, entry_a), min(b, entry_b)
  call('SETRANGE', log.key, log.base + at % RING * ENTRY, pack('<ddd', last, entry_a - a, entry_b - b))
  if at == log.tail - 1 then log.newest_a, log.newest_b = entry_a - a, entry_b - b end
  -- Sums that are not exact are added anew by advance, not changed.
  if log.a < EXACT_NUMBERS and log.b < EXACT_NUMBERS then log.a, log.b = log.a - a, log.b - b end
end

-- The model's log, with the day and the numbers of the reservations.
local function read_model(key, now)
  local text = call('GETRANGE', key, '0', '135')
  local m = {key = key, there = text ~= '', base = MODEL, window = MINUTE}
  if text == '' then text = string.rep('\0', MODEL) end
  m.head, m.tail, m.first, m.last, m.a, m.b, m.kept_until, m.day_start, m.day_count, m.day, m.open, m.earliest,
    m.holds_kept_until, m.seen, m.oldest, m.newest_a, m.newest_b = unpack('<ddddddddddddddddd', text)
  advance(m, now)
  if m.day_count > 0 then
    if m.day_start > now then m.day_start, m.pulled_back = now, true end
    if now - m.day_start >= DAY then m.day_start, m.day_count, m.day = 0, 0, m.day + 1 end
  end
  return m
end

local function write_model(m, now)
  local needed = now + MINUTE
  if m.day_count > 0 then needed = max(needed, m.day_start + DAY) end
  if m.open > 0 then needed = max(needed, m.holds_kept_until) end
  local expire = m.kept_until < needed
  if expire then m.kept_until = needed + SLACK end
  m.seen = now
  call('SETRANGE', m.key, '0', pack('<ddddddddddddddddd', m.head, m.tail, m.first, m.last, m.a, m.b, m.kept_until,
    m.day_start, m.day_count, m.day, m.open, m.earliest, m.holds_kept_until, now, m.oldest, m.newest_a, m.newest_b))
  if expire then call('PEXPIRE', m.key, string.format('%.0f', (m.kept_until - now) / 1000)) end
end

-- A tier's window or bucket; `resets` must be the model's, or what it has counted is void. A bucket has as much as
-- `whole`, and `part` of `per`.
local function read_tier(key, now, resets, bucket, amount, per, burst)
  local text = call('GETRANGE', key, '0', '87')
  local t = {key = key, there = text ~= '', base = TIER, window = per, bucket = bucket, resets = resets}
  if text == '' then
    text = nil
  else
    local was
    if bucket then
      t.whole, t.part, t.last, t.kept_until, was = unpack('<ddddd', text)
    else
      t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, was, t.oldest, t.newest_a, t.newest_b =
        unpack('<ddddddddddd', text)
    end
    if was ~= resets then text = nil end
  end
  if not bucket then
    if not text then
      t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, t.oldest, t.newest_a, t.newest_b = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    end
    advance(t, now)
    return t
  end
  t.fresh = not text
  if t.fresh then
    t.whole, t.part, t.last, t.kept_until = burst, 0, now, 0
  elseif t.last < now then
    local parts = (now - t.last) * amount + t.part
    local gained = floor(parts / per)
    local rest = parts - gained * per
    if rest < 0 then gained, rest = gained - 1, rest + per end
    if parts >= EXACT_NUMBERS then rest = 0 end
    t.whole, t.part = t.whole + gained, rest
  end
  t.pulled_back = t.last > now
  t.last = now
  if t.whole >= burst then t.whole, t.part = burst, 0 end
  return t
end

local function write_tier(t, now, amount, burst)
  local needed = now + t.window
  -- A bucket that is full for its time may be forgotten.
  if t.bucket then needed = min(needed + max(0, burst - t.whole) / amount * t.window, now + 800 * DAY) end
  local expire = t.kept_until < needed
  if expire then t.kept_until = needed + t.window + SLACK end
  if t.bucket then
    call('SETRANGE', t.key, '0', pack('<ddddd', t.whole, t.part, t.last, t.kept_until, t.resets))
  else
    call('SETRANGE', t.key, '0', pack('<ddddddddddd', t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, t.resets,
      t.oldest, t.newest_a, t.newest_b))
  end
  if expire then call('PEXPIRE', t.key, string.format('%.0f', (t.kept_until - now) / 1000)) end
end

-- A reservation: deadline, time to live, requests, tokens, number of the model's entry, day, resets, and for each count
-- of a tier: key, tokens or requests, bucket, amount, per, burst, number of the entry.
-- What it charged is given back, or what was used beyond is charged.
local function settle(m, hold, requests, tokens, now)
  if requests > 0 or tokens > 0 then give_back(m, hold[5], max(0, requests), max(0, tokens)) end
  if tokens < 0 then enter(m, now, 0, -tokens) end
  if requests > 0 and hold[6] == m.day and m.day_count > 0 then
    m.day_count = max(0, m.day_count - requests)
    if m.day_count == 0 then m.day_start, m.day = 0, m.day + 1 end
  end
  for at = 8, #hold, 7 do
    local key, of_tokens, bucket, amount, per, burst, number = spread(hold, at, at + 6)
    local back = of_tokens and tokens or requests
    if back ~= 0 then
      local t = read_tier(key, now, hold[7], bucket, amount, per, burst)
      if bucket then
        t.whole = max(-MOST, min(burst, t.whole + back))
      elseif back > 0 then
        give_back(t, number, back, 0)
      else
        enter(t, now, -back, 0)
      end
      -- A bucket that was forgotten was full.
      if not (t.fresh and back > 0) then write_tier(t, now, amount, burst) end
    end
  end
end

-- The reservations whose deadline has come. Many are given back in several calls: until then they count, and refuse.
local function sweep(m, holds, deadlines, now)
  if m.open > 0 and m.seen > now then  -- the clock has stepped back: none lives longer than from now
    local all = call('HGETALL', holds)
    m.earliest = now
    for at = 1, #all, 2 do
      local hold = cmsgpack.unpack(all[at + 1])
      if hold[1] > now + hold[2] then
        hold[1] = now + hold[2]
        call('ZADD', deadlines, string.format('%.0f', hold[1]), all[at])
        call('HSET', holds, all[at], cmsgpack.pack(hold))
      end
    end
  end
  if m.open == 0 or m.earliest > now then return 0 end
  local tokens = call('ZRANGEBYSCORE', deadlines, '-inf', string.format('%.0f', now), 'LIMIT', 0, 1000)
  for _, token in ipairs(tokens) do
    local packed = call('HGET', holds, token)
    if packed then
      local hold = cmsgpack.unpack(packed)
      settle(m, hold, hold[3], hold[4], now)
    end
    call('HDEL', holds, token)
    call('ZREM', deadlines, token)
  end
  m.open = call('HLEN', holds)
  local next = call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')
  m.earliest = next[2] and tonumber(next[2]) or 0
  write_model(m, now)
  return #tokens
end
)lua";

}  // namespace

std::string_view RedisCommonLua() { return kCommon; }

}  // namespace weir
