-- Joined in front of every other script. The keys, the clock and the few moves that all scripts share.
--
-- A request is always in exactly one of: the queue list, one worker's claim list, rq:wip, or a final registry.
-- Every move of an id is one script, so that no reader ever sees it in two places or in none.
--
--   rq:queue:correct              LIST  waiting ids, head = next                              (RQ's, as all rq:* keys)
--   rq:queue:correct-async        LIST  those that nobody waits for; what goes back to a queue goes to the front of the other
--   rq:job:<id>                   HASH  the job; our own fields are the last of ENQUEUE
--   rq:wip:correct                ZSET  "<id>:<worker>" -> expiry                             who runs what
--   rq:finished|failed|canceled:correct  ZSET  id -> when it may be forgotten
--   rq:results:<id>               STREAM of the answer
--   miniserve:leases              ZSET  worker -> when its work may be given to others
--   miniserve:claim:<worker>      LIST  ids taken by BLMOVE, not yet started
--   miniserve:inbox:<worker>      HASH  epoch -> number of its last RESYNC; and ids that the worker shall drop
--   miniserve:reservations        HASH  id -> reserved tokens; its length is the number of accepted, unfinished requests
--   miniserve:rates               HASH  worker -> reserved tokens/s that it can finish
--   miniserve:counts              HASH  of all time: accepted, and how they ended (done, failed, cancelled, expired,
--                                       removed); the difference is the length of the reservations. done_length: those of
--                                       the done that were cut. stay_us: the time all that ended had been in the system.
--                                       refused_full, refused_late, refused_share: HTTP requests; refused_sentences: their
--                                       jobs.
--                                       duplicates: answers dropped because another one was first.
--                                       law_us: the times of all ends less those of all acceptances. And as they are now:
--                                       reserved_tokens, the sum of the reservations; service_rate, that of the rates;
--                                       kept_bytes, the sum of miniserve:kept; kept_room_at, when a tenth of it is forgotten;
--                                       max_memory of this Redis
--                                       shares, the sum of miniserve:clients; last_client and client_changed_at: whose request
--                                       was the last, and when it was last another's
--   miniserve:clients             HASH  client -> what it holds of a queue that is not nearly empty, see ENQUEUE
--   miniserve:kept                HASH  second -> bytes of what is forgotten then: texts, answers, traces
--   miniserve:totals              HASH  what workers and API replicas counted, summed: field -> number
--   miniserve:reported:<process>  STRING  number of the last report in those sums
--   miniserve:history             LIST  what grows, once a second, the last of two minutes; newest last
--   miniserve:apis                ZSET  API replica -> when it last reported
--   miniserve:request:<id>        HASH  what an HTTP request asked: document, ids of its jobs, how many are open, digest of
--                                       its body, `maker`: tokenizer of its answers; lives as long as the answer that ended
--                                       last.
--   miniserve:text:<id>           STRING  in its place for a single job that nobody asks for later: the document. `maker` is
--                                       a field of the job then. No text is in rq:*: a dashboard's user may read all of that
--   miniserve:key:<digest>        STRING  the request that an idempotency key stands for
--   miniserve:trace:<id>          STRING  what the API replica saw of an HTTP request; the worker's part is the field
--                                       `trace` of each job
-- Keys are made here and not passed in KEYS: this is no Redis Cluster protocol.
local QUEUE, ASYNC, WIP = 'rq:queue:correct', 'rq:queue:correct-async', 'rq:wip:correct'
local LEASES, RESERVATIONS, RATES = 'miniserve:leases', 'miniserve:reservations', 'miniserve:rates'
local COUNTS, TOTALS, HISTORY = 'miniserve:counts', 'miniserve:totals', 'miniserve:history'
local KEPT, CLIENTS = 'miniserve:kept', 'miniserve:clients'
local NOBODY = '-' -- in the place of a channel: an answer is wanted, and nobody waits for it
local APIS, API_TTL_S = 'miniserve:apis', 2 -- of a replica that reports no more
local WIP_TTL_S = 3600 -- RQ's own cleanup fails what stays longer; our leases act within seconds, so this never counts

local function job_key(id) return 'rq:job:' .. id end
local function claim_key(worker) return 'miniserve:claim:' .. worker end
local function registry_of(status) return 'rq:' .. status .. ':correct' end
local function request_key(id) return 'miniserve:request:' .. id end
local function inbox_key(worker) return 'miniserve:inbox:' .. worker end

local the_time -- no time passes within a script
local function clock()
  if not the_time then
    local time = redis.call('TIME')
    the_time = tonumber(time[1]) + tonumber(time[2]) / 1000000
  end
  return the_time
end

-- RQ writes times as text and Redis' Lua has no dates. Days to civil date after H. Hinnant, "chrono-Compatible
-- Low-Level Date Algorithms", with the era arithmetic reduced to dates after 1970.
local function iso(now)
  local seconds = math.floor(now)
  local days, rest = math.floor(seconds / 86400) + 719468, seconds % 86400
  local era = math.floor(days / 146097)
  local doe = days - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%06dZ', year, month, doy - math.floor((153 * mp + 2) / 5) + 1,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, math.floor((now - seconds) * 1000000))
end

-- What is read may have been written by anybody, and a script that fails fails all requests that it moves. So a value that
-- is no number of ours is nil, and so is all that a key of another type holds.
local function number(text, least, most)
  local value = tonumber(text or '')
  if value and value >= (least or -1e21) and value <= (most or 1e21) then return value end -- neither is true of nan
end

local function ttl_of(text) return math.floor(number(text, 1, 1e8) or 60) end

-- A hash by name; with `names` these fields.
local function hash_of(key, ...)
  local hash, names = {}, { ... }
  local flat = #names > 0 and redis.pcall('HMGET', key, ...) or redis.pcall('HGETALL', key)
  if flat.err then return hash end
  for at = 1, #names do hash[names[at]] = flat[at] or nil end
  for at = 1, #names == 0 and #flat or 0, 2 do hash[flat[at]] = flat[at + 1] end
  return hash
end

-- A write that puts a key of another type away.
local function write(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call('DEL', key) end
  return redis.call(command, key, ...)
end

-- Some fields of a job; one that is missing or empty is nil, and so are all under an id that no job may have.
local function read(id, ...)
  local job = string.find(id, '^[%w_-]+$') and #id <= 128 and hash_of(job_key(id), ...) or {}
  for name, value in pairs(job) do
    if value == '' then job[name] = nil end
  end
  return job
end

-- How often its worker died while it held nothing else.
local function attempts_of(job) return number(job.attempts, 0, 99) or 0 end

-- With whom it may run, of a job that a worker died with; nil of any other, and those run with each other.
local function group_of(id, job) return job.group or attempts_of(job) > 0 and id or nil end

-- What a worker gets of a job: { id, attempt, waited us, data, streams, us until its deadline or -1, 1 of a suspect }.
local MAX_DATA_BYTES = 65536 -- as in formats.py; without this one a worker would read any length
local function delivery(id, job, accepted_at)
  local function us_between(from, to) return math.max(0, math.min(math.floor((to - from) * 1000000), 1e15)) end
  local deadline, data = number(job.deadline), job.data or ''
  local left_us = deadline and us_between(clock(), deadline) or -1
  return { id, attempts_of(job) + 1, us_between(accepted_at, clock()), string.sub(data, 1, MAX_DATA_BYTES + 1),
    job.streams or '', left_us, group_of(id, job) and 1 or 0, job.reply_to == NOBODY and 1 or 0 }
end

local function num_queued() return redis.call('LLEN', QUEUE) + redis.call('LLEN', ASYNC) end

-- Back to the front of the queue, in their order.
local function push_front(ids, first)
  for at = #ids, first or 1, -1 do redis.call('LPUSH', QUEUE, ids[at]) end
end

-- Of the number of reservations over time, for Little's law. Each request adds the time of its end less that of its
-- acceptance, one when it comes and the other when it goes: what is still open is made up for when somebody looks. A
-- number of Lua is exact to some 16 us here, and does not overflow as the 64 bits of INCRBY would.
local LAW_SINCE_S = 1700000000 -- times count from here, which keeps their sums small
local function law_us() return math.floor((clock() - LAW_SINCE_S) * 1000000) end

-- Lua's unpack fails near 8,000 values.
local function in_slices(command, key, values)
  for first = 1, #values, 1000 do
    redis.call(command, key, unpack(values, first, math.min(first + 999, #values)))
  end
end

-- The accounts. A script notes what it reserves, releases, counts, ends and publishes, and `close` writes all of it, each
-- kind with one command for any number of jobs. Every script that notes something must end in `close`.
local reserved, released, counted, ended, kept, held, outgoing = {}, {}, {}, {}, {}, {}, {}

local function count(what, by) counted[what] = (counted[what] or 0) + (by or 1) end

-- `share`: field of a job, '<client> <cost>'; nil of one that is not counted.
local function hold(share, sign)
  local client, cost = string.match(share or '', '^(%d+) (%d+)$')
  if client then
    held[client] = (held[client] or 0) + sign * cost
    count('shares', sign * cost)
  end
end

local known_counts -- read once: nobody else changes them meanwhile
local function counts()
  if not known_counts then
    known_counts = {}
    for what, text in pairs(hash_of(COUNTS)) do known_counts[what] = number(text) end
  end
  return known_counts
end

-- The memory of a job, from its acceptance until it is forgotten, is at most this: hash, answer, trace, and their entries in
-- Redis' tables (tests/integration/test_kept_bytes.py measures it). What is open is counted by the reservations; what has ended
-- by the second in which it is forgotten, because an expiry runs no script; dead letters by their registry, because a
-- dashboard deletes them and puts them back.
local JOB_BYTES, TOKEN_BYTES, MOST_TOKENS = 3600, 8, 160
local RECORD_BYTES = 1500 -- with the trace, beside the document
local function bytes_of(num_jobs, tokens) return num_jobs * JOB_BYTES + tokens * TOKEN_BYTES end
local function dead_bytes(num_jobs) return bytes_of(num_jobs, num_jobs * MOST_TOKENS) end

-- What is kept for long counts to the end of its hour: or there would be a bucket for each second of a week.
local LONG_S, HOUR_S = 1300, 3600
local function keep(until_s, bytes)
  if until_s - clock() > LONG_S then until_s = math.ceil(until_s / HOUR_S) * HOUR_S end
  local second = string.format('%.0f', math.ceil(until_s))
  kept[second] = (kept[second] or 0) + bytes
  count('kept_bytes', bytes)
end

-- A job that was to be forgotten at the time of its registry, and is now put back or deleted.
local function unkeep(id, status)
  local until_s = redis.call('ZSCORE', registry_of(status), id)
  redis.call('ZREM', registry_of(status), id)
  if until_s and status == 'failed' then
    count('kept_bytes', -dead_bytes(1))
  elseif until_s then
    keep(tonumber(until_s), -bytes_of(1, number(read(id, 'reserved_tokens').reserved_tokens, 1) or 1))
  end
end

-- The caller knows that the id has no reservation.
local function reserve(id, tokens)
  reserved[#reserved + 1] = id
  reserved[#reserved + 1] = tokens
  count('reserved_tokens', tokens)
  count('law_us', -law_us())
  count('accepted')
end

-- Exactly once, however often it is called: the hash entry is the reservation. `outcome`: how the request ended; nil where
-- its job was deleted by hand. `tokens`: of the reservation, false for none, nil where the caller has not read it.
local function release(id, outcome, accepted_at, tokens, share)
  if tokens == nil then tokens = redis.call('HGET', RESERVATIONS, id) end
  if not tokens or released[id] then return end
  tokens = number(tokens) or 0
  released[id] = true
  released[#released + 1] = id
  hold(share, -1)
  count('reserved_tokens', -tokens)
  count('law_us', law_us())
  count(outcome or 'removed')
  local since = number(accepted_at or read(id, 'accepted_at').accepted_at, 0)
  if since then count('stay_us', math.max(0, math.floor((clock() - since) * 1000000))) end
end

-- All lines for one API process go out as one message: the base64 payload of an answer, or '-<id>' of a job that ended
-- without one.
local function queue_publish(reply_to, line)
  for channel in string.gmatch(reply_to or '', '%S+') do
    if channel ~= NOBODY then
      outgoing[channel] = outgoing[channel] and outgoing[channel] .. '\n' .. line or line
    end
  end
end

local function close()
  if #reserved > 0 then in_slices('HSET', RESERVATIONS, reserved) end
  if #released > 0 then in_slices('HDEL', RESERVATIONS, released) end
  local sums = {}
  for what, by in pairs(counted) do
    counts()[what] = (counts()[what] or 0) + by
    sums[#sums + 1] = what
    sums[#sums + 1] = string.format('%.0f', counts()[what])
  end
  if #sums > 0 then redis.call('HSET', COUNTS, unpack(sums)) end
  for status, entries in pairs(ended) do in_slices('ZADD', registry_of(status), entries) end
  for second, bytes in pairs(kept) do redis.pcall('HINCRBY', KEPT, second, bytes) end -- summed up every second
  for client, cost in pairs(held) do
    local left = redis.pcall('HINCRBY', CLIENTS, client, cost)
    if type(left) ~= 'number' or left <= 0 then redis.call('HDEL', CLIENTS, client) end
  end
  for channel, text in pairs(outgoing) do redis.call('PUBLISH', channel, text) end
end

-- The last move of an id: into finished, failed or canceled. `job`: its ttl, outcome for the counts, accepted_at, request,
-- share and tokens as in `release`, and further fields and values.
local function settle(id, status, job)
  local now = clock()
  if status == 'finished' then -- without accepted_at a job has no reservation
    redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso(now), 'accepted_at', '', unpack(job.fields or {}))
  else -- an operator may put it back, and then wants it to run, and no client holds it
    redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso(now), 'attempts', 0, 'group', '', 'worker_name', '',
      'cancel_requested', '', 'deadline', '', 'accepted_at', '', 'share', '', unpack(job.fields or {}))
  end
  redis.call('EXPIRE', job_key(id), job.ttl)
  local entries = ended[status] or {}
  ended[status] = entries
  entries[#entries + 1] = now + job.ttl
  entries[#entries + 1] = id
  if status == 'failed' then
    count('kept_bytes', dead_bytes(1))
  else
    keep(now + job.ttl, bytes_of(1, number(job.tokens) or 0))
  end
  if job.request and redis.call('EXISTS', request_key(job.request)) == 1 then
    local open = redis.pcall('HINCRBY', request_key(job.request), 'open', -1)
    if type(open) == 'number' and open <= 0 then
      redis.call('EXPIRE', request_key(job.request), job.ttl)
      if status == 'failed' then -- for far longer than ENQUEUE has counted
        keep(now + job.ttl, RECORD_BYTES + redis.call('HSTRLEN', request_key(job.request), 'document'))
      end
    end
  end
  release(id, job.outcome, job.accepted_at, job.tokens, job.share)
end

-- Into canceled: `why` is 'cancelled' (its clients left, or said so) or 'expired', and then `place` says where it was.
local function cancel_job(id, why, place)
  local job = read(id, 'result_ttl', 'accepted_at', 'request', 'reply_to', 'share')
  local tokens = redis.call('HGET', RESERVATIONS, id)
  local is_expired = why == 'expired'
  if is_expired and tokens then count('expired_' .. place) end
  settle(id, 'canceled', { ttl = ttl_of(job.result_ttl), outcome = is_expired and 'expired' or 'cancelled',
    accepted_at = job.accepted_at, request = job.request, tokens = tokens, share = job.share, fields = is_expired and { 'expired', 1 } })
  queue_publish(job.reply_to, '-' .. id)
end

local function is_leased(worker)
  local until_s = redis.call('ZSCORE', LEASES, worker)
  return until_s and tonumber(until_s) > clock()
end

-- What became of a job: { 'gone' | 'queued' | 'started' | 'expired' | 'canceled' | 'done', base64 payload, trace }.
local function state_of(id)
  local job = read(id, 'status', 'expired', 'trace', 'cancel_requested', 'worker_name')
  local status, trace = job.status or 'gone', job.trace or ''
  if status == 'canceled' then return { job.expired and 'expired' or 'canceled', '', trace } end
  -- Whoever takes it from a worker that has stopped, ends it.
  if job.cancel_requested and status == 'started' and not is_leased(job.worker_name or '') then
    return { job.cancel_requested == 'expired' and 'expired' or 'canceled', '', trace }
  end
  if status ~= 'finished' and status ~= 'failed' then return { status, '', trace } end
  local last = redis.pcall('XREVRANGE', 'rq:results:' .. id, '+', '-', 'COUNT', 1) -- an error has no first
  for field = 1, last[1] and #last[1][2] or 0, 2 do
    if last[1][2][field] == 'return_value' then return { 'done', last[1][2][field + 1], trace } end
  end
  return { 'gone', '', trace }
end

local function owner_of(member)
  local id, worker = string.match(member, '^([^:]*):(.*)$')
  return id or member, worker or ''
end

local function ids_run_by(worker)
  local ids = {}
  for _, member in ipairs(redis.call('ZRANGE', WIP, 0, -1)) do
    local id, owner = owner_of(member)
    if owner == worker then ids[#ids + 1] = id end
  end
  return ids
end

-- What windows are made of: the numbers that grow, as they were a second ago, two seconds ago, ...
local HISTORY_ROWS, HISTORY_STEP_S = 120, 0.95 -- somewhat less than the second that the beats come in
local ENDS = { 'done', 'failed', 'cancelled', 'expired', 'removed' }

local function moment(now)
  local sums = counts()
  local area_us = redis.call('HLEN', RESERVATIONS) * law_us() + (sums.law_us or 0)
  local row = { at_s = now, area_s = area_us / 1000000, accepted = sums.accepted or 0, ended = 0 }
  row.stay_s = (sums.stay_us or 0) / 1000000
  row.refused = sums.refused_sentences or 0 -- and below those that replicas refused without asking here, one sentence each
  for _, what in ipairs(ENDS) do row.ended = row.ended + (sums[what] or 0) end
  row.done, row.failed = sums.done or 0, (sums.failed or 0) + (sums.expired or 0)
  row.iterations = {}
  local totals = hash_of(TOTALS)
  row.refused = row.refused + (number(totals['rejected:queue-full']) or 0)
  row.loop_ticks, row.loop_late_s = number(totals['loop:ticks']) or 0, number(totals['loop:late_s']) or 0
  row.queued_s, row.replies, row.errors = number(totals['request_queue_time:sum']) or 0, 0, 0
  for field, text in pairs(totals) do
    local name = string.match(field, '^iteration:(.*)$')
    if name then row.iterations[name] = number(text) end
    local class = string.match(field, '^http:/correct.*:([25])%d%d$')
    class = class and (class == '2' and 'replies' or 'errors')
    if class then row[class] = row[class] + (number(text) or 0) end
  end
  return row
end

-- Used memory and its limit, in bytes, 0 where users may not ask; and what it does when it is full, '' there.
local function memory_facts()
  local facts = redis.pcall('INFO', 'memory')
  if type(facts) ~= 'string' then return 0, 0, '' end
  return number(string.match(facts, 'used_memory:(%d+)')) or 0, number(string.match(facts, 'maxmemory:(%d+)')) or 0,
    string.match(facts, 'maxmemory_policy:([%w-]+)') or ''
end

-- Drop the seconds that are over. Also what no script wrote.
local function forget_kept(now)
  local gone, seconds, bytes_at, room, room_at = {}, {}, {}, 0, now
  local sum = dead_bytes(redis.call('ZCARD', registry_of('failed')))
  for second, bytes in pairs(hash_of(KEPT)) do
    local at = number(second)
    if at and at > now and number(bytes) then
      seconds[#seconds + 1], bytes_at[at], sum = at, number(bytes), sum + number(bytes)
    else
      gone[#gone + 1] = second
    end
  end
  if #gone > 0 then in_slices('HDEL', KEPT, gone) end
  table.sort(seconds)
  for _, at in ipairs(seconds) do
    if room >= sum / 10 then break end
    room, room_at = room + bytes_at[at], at
  end
  local _, max_memory = memory_facts()
  counts().kept_bytes = sum
  redis.call('HSET', COUNTS, 'kept_bytes', string.format('%.0f', sum), 'kept_room_at', string.format('%.0f', room_at),
    'max_memory', string.format('%.0f', max_memory))
end

local function remember(now)
  local last = redis.call('LINDEX', HISTORY, -1)
  local last_s = last and string.match(last, '"at_s":([%d.]+)') -- all of it is decoded 20 times as slowly
  if math.abs(now - (number(last_s) or 0)) < HISTORY_STEP_S then return end
  forget_kept(now)
  redis.call('RPUSH', HISTORY, cjson.encode(moment(now)))
  redis.call('LTRIM', HISTORY, -HISTORY_ROWS, -1)
end

-- Any of them, oldest first, may have killed their worker, and most are innocent. They come back in groups of about the
-- square root of their number, and each group runs with nothing beside it. The members of a group that kills again come
-- back one by one. Only a death by itself counts as an attempt (docs/adr/0016-suspects-in-groups.md).
local function suspect(ids)
  local size = math.floor(math.sqrt(#ids) + 0.5)
  for at, id in ipairs(ids) do
    local job = read(id, 'group', 'attempts')
    local group, attempts = job.group and id or ids[at - (at - 1) % size], attempts_of(job)
    redis.call('HSET', job_key(id), 'group', group, 'attempts', #ids == 1 and attempts + 1 or attempts)
  end
end

-- Back to the front of the queue, oldest first; the callers have taken the ids out of where they were. With `has_died`
-- those that had been started are suspects.
local function requeue(ids, has_died)
  local waiting, suspects, since = {}, {}, {}
  for _, id in ipairs(ids) do
    local job = read(id, 'status', 'accepted_at', 'cancel_requested')
    if not job.status then
      release(id) -- the job was deleted by hand
    elseif job.cancel_requested and job.status == 'started' then
      cancel_job(id, job.cancel_requested, 'running')
    elseif job.status == 'started' or job.status == 'queued' then
      waiting[#waiting + 1], since[id] = id, number(job.accepted_at) or 0
      redis.call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
      if has_died and job.status == 'started' then suspects[#suspects + 1] = id end
    end
  end
  local function is_older(one, other) return since[one] < since[other] end
  table.sort(waiting, is_older)
  table.sort(suspects, is_older)
  push_front(waiting)
  suspect(suspects)
  return #waiting
end

-- Take everything a worker holds away from it; used when it leaves, when it died, and when its engine failed.
local function take_from(worker, has_died)
  local ids = ids_run_by(worker)
  for _, id in ipairs(ids) do redis.call('ZREM', WIP, id .. ':' .. worker) end
  for _, id in ipairs(redis.call('LRANGE', claim_key(worker), 0, -1)) do ids[#ids + 1] = id end
  redis.call('DEL', claim_key(worker))
  return requeue(ids, has_died)
end

local function sum_rates()
  local sum = 0
  for _, rate in ipairs(redis.call('HVALS', RATES)) do sum = sum + (number(rate, 0) or 0) end
  redis.call('HSET', COUNTS, 'service_rate', string.format('%.1f', sum))
end

local function unregister(worker)
  local key = 'rq:worker:' .. worker
  redis.call('SREM', 'rq:workers', key)
  redis.call('SREM', 'rq:workers:correct', key)
  redis.call('SREM', 'rq:workers:correct-async', key)
  redis.call('DEL', key, 'rq:job:batch-' .. worker, inbox_key(worker))
  redis.call('ZREM', LEASES, worker)
  redis.call('HDEL', RATES, worker)
  sum_rates()
end
