#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/redis/redis_script_parts.h"

namespace weir {
namespace {

static_assert(kMostAmount == 1'000'000'000'000'000, "as in the script");

constexpr std::string_view kCounts = R"lua(
local MOST, EXACT_NUMBERS = 1e15, 9007199254740992
local RING, EXACT, ENTRY = 128, 60, 24
local MODEL, TIER, BUCKET = 160, 88, 48  -- bytes of the headers
local MINUTE, DAY, SLACK = 60e6, 86400e6, 120e6
local LONGEST, PERIOD_KEPT = 1e14, 3600e6
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

-- What this store has: models_key names the models, with the time until which the log is kept, or, of those whose quota
-- was stated, by whom (with :t, below 0, until when a count of a tier is); names_key has how many counts of tiers are
-- kept until when. Whatever goes by another way than its time (a reset, somebody's DEL) counts until then.
local names_key, models_key = KEYS[#KEYS - 1], KEYS[#KEYS]
local STATED = 1e17
local function text(number) return string.format('%.0f', number) end
local function keep_until(key, time, now)
  local left = (time - now) / 1000
  if call('PTTL', key) < left then call('PEXPIRE', key, text(left)) end
end

local held
local function names_held(now)
  if held then return held end
  local all, next = spread(call('HMGET', names_key, 'all', 'next'))
  held = {all = tonumber(all or 0), next = tonumber(next or 0)}
  if held.next == 0 or held.next > now then return held end
  local fields, gone = call('HGETALL', names_key), {}
  held.all, held.next = 0, 0
  for at = 1, #fields, 2 do
    local time, count = tonumber(fields[at]), tonumber(fields[at + 1])
    if time and (time <= now or count <= 0) then
      gone[#gone + 1] = fields[at]
    elseif time then
      held.all, held.next = held.all + count, held.next == 0 and time or min(held.next, time)
    end
  end
  if #gone > 0 then call('HDEL', names_key, spread(gone)) end
  call('HSET', names_key, 'all', text(held.all), 'next', text(held.next))
  return held
end

-- A count of a tier is kept until `time`, and was until `before`; 0: it is new.
local function keep_name(m, key, now, before, time)
  local names, was = names_held(now), -1
  if before > now then
    was = call('HINCRBY', names_key, text(before), -1)
    if was <= 0 then call('HDEL', names_key, text(before)) end
  end
  if was < 0 then names.all = names.all + 1 end
  call('HINCRBY', names_key, text(time), 1)
  if names.next == 0 or time < names.next then names.next = time end
  call('HSET', names_key, 'all', text(names.all), 'next', text(names.next))
  keep_until(names_key, time, now)
  -- A count for all models together is found by its own name.
  local of_all = string.find(key, '{}:t:', 1, true)
  call('ZADD', models_key, 'LT', text(-time), of_all and key or string.sub(m.key, 1, -2) .. 't')
end

local function keep_model(m, now)
  local score = m.stated and call('ZSCORE', models_key, m.key)
  if not score or tonumber(score) < STATED then
    call('ZADD', models_key, 'GT', m.stated and '+inf' or text(m.kept_until), m.key)
  end
  call('ZREMRANGEBYSCORE', models_key, text(-now), text(now))
  local last = call('ZRANGE', models_key, -1, -1, 'WITHSCORES')
  if tonumber(last[2]) < STATED then keep_until(models_key, m.kept_until, now) else call('PERSIST', models_key) end
end

-- Of the times until which names are kept there are few: full minutes, later hours, then days.
local function rounded(time, now)
  local grain = time - now < 60 * MINUTE and MINUTE or time - now < 7 * DAY and 60 * MINUTE or DAY
  return math.ceil(time / grain) * grain
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
  if expire then
    call('PEXPIRE', m.key, text((m.kept_until - now) / 1000))
    keep_model(m, now)
  end
end

-- A tier's window or bucket; of another epoch than the model's it is void. A bucket lacks what is `owed`, less `paid`
-- of `per`; that is paid off at `rate` in `per`. Of a day or month `per` is the time of its end, which no window is as
-- long as; it has no entries, and its sum is `a`.
local function read_tier(key, now, epoch, bucket, amount, per)
  local packed = try('GETRANGE', key, '0', '87')
  local t = {key = key, there = packed ~= '', base = TIER, window = per, bucket = bucket, epoch = epoch,
    period = per > LONGEST}
  local was
  if #packed < (bucket and BUCKET or TIER) then
    if t.there then refuse_key(key, packed) end
  elseif bucket then
    t.owed, t.paid, t.last, t.kept_until, was, t.rate = unpack('<dddddd', packed)
  else
    t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, was, t.oldest, t.newest_a, t.newest_b =
      unpack('<ddddddddddd', packed)
  end
  t.counted = t.kept_until or 0  -- as a name
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

-- What is counted for all models together, under the model '', is of no model's epoch.
local function epoch_of(m, key) return string.find(key, '{}:t:', 1, true) and 0 or m.epoch end

-- Kept while it counts, and until `needed`.
local function write_tier(m, t, now, needed)
  -- A bucket that lacks nothing may be forgotten.
  local length = t.period and 0 or t.window
  needed = max(needed, t.period and t.window + PERIOD_KEPT
    or now + (t.bucket and min(t.owed / t.rate * length, 800 * DAY) or length))
  local expire = t.kept_until < needed
  if expire then t.kept_until = rounded(max(now, needed) + length + SLACK, now) end
  if t.bucket then
    call('SETRANGE', t.key, '0', pack('<dddddd', t.owed, t.paid, t.last, t.kept_until, t.epoch, t.rate))
  else
    call('SETRANGE', t.key, '0', pack('<ddddddddddd', t.head, t.tail, t.first, t.last, t.a, t.b, t.kept_until, t.epoch,
      t.oldest, t.newest_a, t.newest_b))
  end
  if expire then
    call('PEXPIRE', t.key, text((t.kept_until - now) / 1000))
    keep_name(m, t.key, now, t.counted, t.kept_until)
    t.counted = t.kept_until
  end
  m.tiers_until = max(m.tiers_until, t.kept_until)
end
)lua";

}  // namespace

std::string_view RedisCountsLua() { return kCounts; }

}  // namespace weir
