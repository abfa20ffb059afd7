-- What windows are made of: the numbers that grow, as they were a second ago, two seconds ago, ...
local HISTORY_ROWS, HISTORY_STEP_S = 120, 0.95 -- somewhat less than the second that the beats come in
local ENDS = { 'done', 'failed', 'cancelled', 'expired', 'removed' }

-- A hash by name.
local function hash_of(key)
  local hash, flat = {}, call('HGETALL', key)
  for at = 1, #flat, 2 do hash[flat[at]] = flat[at + 1] end
  return hash
end

local function info_of(section) -- '' where users may not ask
  local facts = redis.pcall('INFO', section)
  return type(facts) == 'string' and facts or ''
end

-- A row as JSON. Times are written here: cjson keeps 14 digits of a number, of a clock tenths of a millisecond.
local function moment(now)
  local sums = {}
  for what, text in pairs(hash_of(COUNTS)) do sums[what] = number(text) end
  local area_us = call('HLEN', RESERVATIONS) * law_us + (sums.law_us or 0)
  local row = { accepted = sums.accepted or 0, ended = 0 }
  row.refused = sums.refused_sentences or 0 -- and below those that replicas refused without asking here, one sentence each
  for _, what in ipairs(ENDS) do row.ended = row.ended + (sums[what] or 0) end
  row.done, row.failed = sums.done or 0, (sums.failed or 0) + (sums.expired or 0) - (sums.expired_own or 0)
  row.iterations, row.replies, row.errors = {}, 0, 0
  local totals = hash_of(TOTALS)
  row.refused = row.refused + (number(totals['rejected:queue-full']) or 0)
  row.loop_ticks, row.loop_late_s = number(totals['loop:ticks']) or 0, number(totals['loop:late_s']) or 0
  for field, text in pairs(totals) do
    local sum = string.match(field, '^iteration:(.*)$')
    if sum then row.iterations[sum] = number(text) end
    local class = string.match(field, '^http:/correct.*:([25])%d%d$') or string.match(field, '^http:/v2/check:([25])%d%d$')
    class = class and (class == '2' and 'replies' or 'errors')
    if class then row[class] = row[class] + (number(text) or 0) end
  end
  row.errors = math.max(0, row.errors - (number(totals.own_deadline) or 0)) -- a time that the client chose was too short
  return string.format('{"at_s":%.6f,"area_s":%.6f,"stay_s":%.6f,', now, area_us / 1000000, (sums.stay_us or 0) / 1000000)
    .. string.sub(cjson.encode(row), 2)
end

-- Used memory and its limit, in bytes, 0 where users may not ask; and what it does when it is full, '' there.
local function memory_facts()
  local facts = info_of('memory')
  return number(string.match(facts, 'used_memory:(%d+)')) or 0, number(string.match(facts, 'maxmemory:(%d+)')) or 0,
    string.match(facts, 'maxmemory_policy:([%w-]+)') or ''
end

-- RQ's own workers on our queues. One that was killed leaves its name behind, and its hash for a while.
local function foreign_workers()
  local keys, names = {}, {}
  for _, key in ipairs(call('SMEMBERS', 'rq:workers:correct')) do keys[key] = true end
  for _, key in ipairs(call('SMEMBERS', 'rq:workers:correct-async')) do keys[key] = true end
  for key in pairs(keys) do
    local name, facts = string.match(key, '^rq:worker:(.*)$'), fields_of(key, 'birth', 'death')
    if name and facts.birth and not facts.death and not call('ZSCORE', LEASES, name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- The latest of the failed jobs that RQ's workers have put there: no dead letters, for those have an answer that says why.
local LATEST = 32
local function failed_by_others()
  local ids = {}
  for _, id in ipairs(call('ZREVRANGE', registry_of('failed'), 0, LATEST - 1)) do
    local last = results_of(id, 1)[1]
    if last and not field_of(last, 'return_value') then ids[#ids + 1] = id end
  end
  return ids
end

local function remember(now)
  local last = call('LINDEX', HISTORY, -1)
  local last_s = last and string.match(last, '"at_s":([%d.]+)') -- all of it is decoded 20 times as slowly
  if math.abs(now - (number(last_s) or 0)) < HISTORY_STEP_S then return end
  local used, most = memory_facts()
  call('HSET', COUNTS, 'used_memory', string.format('%.0f', used), 'max_memory', string.format('%.0f', most))
  call('RPUSH', HISTORY, moment(now))
  call('LTRIM', HISTORY, -HISTORY_ROWS, -1)
end
