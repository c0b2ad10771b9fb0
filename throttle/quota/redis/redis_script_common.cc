#include "throttle/quota/redis/redis_script_common.h"

#include "throttle/quota/quota_store.h"

namespace weir {
namespace {

static_assert(kMostOpenReservations == 100'000 && kMostExpiredAtOnce == 1'000 && kMostAmount == 1'000'000'000'000'000,
              "as in the script");

// What both scripts need. A script runs from its top each time: so it is straight, and makes few functions.
constexpr std::string_view kCommon = R"lua(
local MOST, EXACT_NUMBERS = 1e15, 9007199254740992
local RING, EXACT, ENTRY = 128, 60, 24
local MODEL, TIER, BUCKET = 160, 88, 48  -- bytes of the headers
local MINUTE, DAY, SLACK = 60e6, 86400e6, 120e6
local MOST_OPEN, AT_ONCE, FEW = 100000, 1000, 100  -- reservations
local call, pack, spread, unpack = redis.call, struct.pack, unpack, struct.unpack
local min, max, floor = math.min, math.max, math.floor

-- Where the decisions have a clock of their own, the server's is asked for `born` alone.
local born
local function server_time()
  local time = call('TIME')
  born = time[1] * 1000000 + time[2]
  return born
end

-- What goes wrong when something is read is told with the key. `text`: what there is, or an error, of length 0.
local try = redis.pcall
local function refuse_key(key, text)
  local what = type(text) == 'table' and text.err or 'ERR what weir does not write; delete the key'
  error({err = what .. ' (' .. key .. ')'})
end
local function ask(command, key, ...)
  local answer = try(command, key, ...)
  if type(answer) == 'table' and answer.err then refuse_key(key, answer) end
  return answer
end

-- A log: {key, base (bytes of its header), window, head, tail, first, last, a, b, oldest, newest_a, newest_b}. a and b
-- are the sums, oldest the time of the oldest entry. Entries are read one by one: Lua hashes each string whole, and the
-- ring would cost more than all else. The numbers of a new log begin at the server's microseconds: they are those of no
-- log that was there before.
local function entry(log, at)
  local place = log.base + at % RING * ENTRY
  local text = call('GETRANGE', log.key, place, place + ENTRY - 1)
  if #text ~= ENTRY then refuse_key(log.key) end
  return unpack('<ddd', text)
end

-- What has left goes, and what lies in the future counts as of now.
local function advance(log, now)
  local head, tail, window = log.head, log.tail, log.window
  if not (head >= 0 and tail >= head and tail <= head + RING and tail < EXACT_NUMBERS) then refuse_key(log.key) end
  if head == tail then return end
  if log.last > now then
    for at = tail - 1, head, -1 do
      if (entry(log, at)) <= now then break end
      call('SETRANGE', log.key, log.base + at % RING * ENTRY, pack('<d', now))
    end
    log.last, log.first, log.oldest, log.changed = now, min(log.first, now), min(log.oldest, now), true
  end
  if log.oldest + window > now then return end
  local a, b, inexact = log.a, log.b, log.a >= EXACT_NUMBERS or log.b >= EXACT_NUMBERS
  local last, entry_a, entry_b = entry(log, head)
  while last + window <= now do
    a, b, head = a - entry_a, b - entry_b, head + 1
    if head >= tail then break end
    last, entry_a, entry_b = entry(log, head)
  end
  if inexact or head >= tail then  -- sums of what only kForce can charge: added anew, they come back to exact ones
    a, b = 0, 0
    for at = head, tail - 1 do
      local _, entry_a, entry_b = entry(log, at)
      a, b = a + entry_a, b + entry_b
    end
  end
  log.head, log.oldest, log.a, log.b = min(head, tail), last, a, b
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
  -- A sum that is not exact is added anew by advance, not changed.
  if log.a < EXACT_NUMBERS then log.a = log.a - a end
  if log.b < EXACT_NUMBERS then log.b = log.b - b end
end

-- The model's log, with the day and the numbers of the reservations. Its epoch is that of the counts of its tiers.
local function read_model(key, now)
  local text = try('GETRANGE', key, '0', '159')
  local m = {key = key, there = text ~= '', base = MODEL, window = MINUTE, tiers_until = 0}
  if #text < MODEL then
    if m.there then refuse_key(key, text) end
    text = string.rep('\0', MODEL)
  end
  m.head, m.tail, m.first, m.last, m.a, m.b, m.kept_until, m.day_start, m.day_count, m.day, m.open, m.earliest,
    m.holds_kept_until, m.seen, m.oldest, m.newest_a, m.newest_b, m.epoch, m.longest, m.pull_to =
    unpack('<dddddddddddddddddddd', text)
  if not m.there then
    m.epoch = born or server_time()
    m.head, m.tail, m.day = m.epoch, m.epoch, m.epoch
    return m
  end
  advance(m, now)
  if m.day_count > 0 then
    if m.day_start > now then m.day_start, m.changed = now, true end
    if now - m.day_start >= DAY then m.day_start, m.day_count, m.day = 0, 0, m.day + 1 end
  end
  return m
end

-- After the tiers, for it is kept as long as each of them.
local function write_model(m, now)
  local needed = max(now + MINUTE, m.tiers_until)
  if m.day_count > 0 then needed = max(needed, m.day_start + DAY) end
  if m.open > 0 then needed = max(needed, m.holds_kept_until) end
  local expire = m.kept_until < needed
  if expire then m.kept_until = needed + SLACK end
  m.seen = now
  call('SETRANGE', m.key, '0', pack('<dddddddddddddddddddd', m.head, m.tail, m.first, m.last, m.a, m.b, m.kept_until,
    m.day_start, m.day_count, m.day, m.open, m.earliest, m.holds_kept_until, now, m.oldest, m.newest_a, m.newest_b,
    m.epoch, m.longest, m.pull_to))
  if expire then call('PEXPIRE', m.key, string.format('%.0f', (m.kept_until - now) / 1000)) end
end

-- A tier's window or bucket; of another epoch than the model's it is void. A bucket lacks what is `owed`, less `paid`
-- of `per`; that is paid off at `rate` in `per`.
local function read_tier(key, now, epoch, bucket, amount, per)
  local text = try('GETRANGE', key, '0', '87')
  local t = {key = key, there = text ~= '', base = TIER, window = per, bucket = bucket, epoch = epoch}
  local was
  if #text < (bucket and BUCKET or TIER) then
    if t.there then refuse_key(key, text) end
  elseif bucket then
    t.owed, t.paid, t.last, t.kept_until, was, t.rate = unpack('<dddddd', text)
  else
    t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, was, t.oldest, t.newest_a, t.newest_b =
      unpack('<ddddddddddd', text)
  end
  local counts = was == epoch
  if not bucket then
    if not counts then
      local number = born or server_time()
      t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, t.oldest, t.newest_a, t.newest_b =
        number, number, 0, 0, 0, 0, 0, 0, 0, 0
    end
    advance(t, now)
    return t
  end
  if not counts then
    t.owed, t.paid, t.last, t.kept_until, t.rate = 0, 0, now, 0, amount
  elseif t.last < now then
    local parts = (now - t.last) * t.rate + t.paid
    local whole = floor(parts / per)
    local rest = parts - whole * per
    if rest < 0 then whole, rest = whole - 1, rest + per end
    if parts >= EXACT_NUMBERS then rest = 0 end
    t.owed, t.paid = t.owed - whole, rest
    if t.owed <= 0 then t.owed, t.paid = 0, 0 end
  end
  t.changed = t.last > now
  t.last = now
  return t
end

-- Kept while it counts, and until `needed`.
local function write_tier(m, t, now, needed)
  -- A bucket that lacks nothing may be forgotten.
  needed = max(needed, now + (t.bucket and min(t.owed / t.rate * t.window, 800 * DAY) or t.window))
  local expire = t.kept_until < needed
  if expire then t.kept_until = needed + t.window + SLACK end
  if t.bucket then
    call('SETRANGE', t.key, '0', pack('<dddddd', t.owed, t.paid, t.last, t.kept_until, t.epoch, t.rate))
  else
    call('SETRANGE', t.key, '0', pack('<ddddddddddd', t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, t.epoch,
      t.oldest, t.newest_a, t.newest_b))
  end
  if expire then call('PEXPIRE', t.key, string.format('%.0f', (t.kept_until - now) / 1000)) end
  m.tiers_until = max(m.tiers_until, t.kept_until)
end

-- A reservation: deadline, time to live, requests, tokens, number of the model's entry, day, and for each count of a
-- tier: key, tokens or requests, bucket, amount, per, number of the entry.
--
-- Whoever settles reads the tiers first: in a cluster whose slots move, a key may be elsewhere, and then the script
-- must not have written anything.
local function read_tiers(hold, tiers, now, epoch)
  for at = 7, #hold, 6 do
    local key, _, bucket, amount, per = spread(hold, at, at + 4)
    if not tiers[key] then tiers[key] = read_tier(key, now, epoch, bucket, amount, per) end
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

-- So much of what it charged is given back, or, below 0, charged beyond.
local function settle(m, tiers, hold, requests, tokens, now)
  if requests > 0 or tokens > 0 then give_back(m, hold[5], requests, max(0, tokens)) end
  if tokens < 0 then enter(m, now, 0, -tokens) end
  if requests > 0 and hold[6] == m.day and m.day_count > 0 then
    m.day_count = max(0, m.day_count - requests)
    if m.day_count == 0 then m.day_start, m.day = 0, m.day + 1 end
  end
  for at = 7, #hold, 6 do
    local key, of_tokens, bucket, _, _, number = spread(hold, at, at + 5)
    local t, back = tiers[key], of_tokens and tokens or requests
    if back ~= 0 and (t.there or back < 0) then
      if bucket then
        give_back_owed(t, hold, of_tokens and hold[4] or hold[3], back, now)
      elseif back > 0 then
        give_back(t, number, back, 0)
      else
        enter(t, now, -back, 0)
      end
      t.settled = true
    end
  end
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

-- The reservations whose deadline has come. Many are given back in several calls: until then they count, and refuse.
local function sweep(m, holds, deadlines, now)
  if m.open == 0 then return 0 end
  if m.seen > now then m.pull_to = now end
  if m.pull_to > 0 then
    pull_back(m, holds, deadlines)
    m.changed = true
  end
  if m.earliest > now then return 0 end
  local found, tiers = {}, {}
  local tokens = ask('ZRANGEBYSCORE', deadlines, '-inf', string.format('%.0f', now), 'LIMIT', '0', AT_ONCE)
  for _, token in ipairs(tokens) do
    local packed = ask('HGET', holds, token)
    if packed then
      local hold = cmsgpack.unpack(packed)
      read_tiers(hold, tiers, now, m.epoch)
      found[#found + 1] = hold
    end
  end
  for _, hold in ipairs(found) do settle(m, tiers, hold, hold[3], hold[4], now) end
  write_tiers(m, tiers, now)
  if #tokens > 0 then
    call('HDEL', holds, spread(tokens))
    call('ZREM', deadlines, spread(tokens))
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
