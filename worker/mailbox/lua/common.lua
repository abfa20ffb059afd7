-- Joined in front of every other script. The keys, the clock and the few moves that all scripts share.
--
-- A request is always in exactly one of: the queue list, one worker's claim list, rq:wip, or a final registry.
-- Every move of an id is one script, so that no reader ever sees it in two places or in none.
--
--   rq:queue:correct              LIST  waiting ids, head = next                              (RQ's, as all rq:* keys)
--   rq:job:<id>                   HASH  the job; our own fields are the last nine of ENQUEUE
--   rq:wip:correct                ZSET  "<id>:<worker>" -> expiry                             who runs what
--   rq:finished|failed|canceled:correct  ZSET  id -> when it may be forgotten
--   rq:results:<id>               STREAM of the answer
--   miniserve:leases              ZSET  worker -> when its work may be given to others
--   miniserve:claim:<worker>      LIST  ids taken by BLMOVE, not yet started
--   miniserve:cancel:<worker>     SET   ids the worker shall drop
--   miniserve:reservations        HASH  id -> reserved tokens; its length is the number of accepted, unfinished requests
--   miniserve:reserved_tokens     STRING  the sum of that hash
--   miniserve:counts              HASH  of all time: accepted, and how they ended (done, failed, cancelled, expired,
--                                       removed); the difference is the length of the reservations. done_length: those of
--                                       the done that were cut. stay_us: the time all that ended had been in the system.
--                                       refused_full, refused_late: HTTP requests; refused_sentences: their jobs
--   miniserve:law                 HASH  us: the times of all ends less those of all acceptances
--   miniserve:totals              HASH  what workers and API replicas counted, summed: field -> number
--   miniserve:reported:<process>  STRING  number of the last report in those sums
--   miniserve:history             LIST  what grows, once a second, the last of two minutes; newest last
--   miniserve:apis                ZSET  API replica -> when it last reported
--   miniserve:request:<id>        HASH  what an HTTP request asked: document, ids of its jobs, how many are open, digest of
--                                       its body, who can read it; lives as long as the answer that ended last
--   miniserve:key:<digest>        STRING  the request that an idempotency key stands for
--   miniserve:rates               HASH  worker -> tokens/s it can finish
--   miniserve:traces:<minute>:<shelf>  LIST  texts of lines "\n<name> <part of a trace>" that came in that minute; the
--                                       shelf is the first two letters of the names: a job's id, or '<request>:api'
--   miniserve:duplicates          STRING  answers dropped because another one was first
-- Keys are made here and not passed in KEYS: this is no Redis Cluster protocol.
local QUEUE, WIP = 'rq:queue:correct', 'rq:wip:correct'
local LEASES, RESERVATIONS, RESERVED_TOKENS = 'miniserve:leases', 'miniserve:reservations', 'miniserve:reserved_tokens'
local COUNTS, LAW, TOTALS, HISTORY = 'miniserve:counts', 'miniserve:law', 'miniserve:totals', 'miniserve:history'
local NOBODY = '-' -- in the place of a channel: an answer is wanted, and nobody waits for it
local APIS, API_TTL_S = 'miniserve:apis', 2 -- of a replica that reports no more
local WIP_TTL_S = 3600 -- RQ's own cleanup fails what stays longer; our leases act within seconds, so this never counts

local function job_key(id) return 'rq:job:' .. id end
local function claim_key(worker) return 'miniserve:claim:' .. worker end
local function registry_of(status) return 'rq:' .. status .. ':correct' end
local function request_key(id) return 'miniserve:request:' .. id end
local function traces_key(minute, shelf) return string.format('miniserve:traces:%d:%s', minute, shelf) end
local function count(what) redis.call('HINCRBY', COUNTS, what, 1) end

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

-- Until a job's deadline; -1: it has none.
local function left_us(deadline, now)
  if not deadline or deadline == '' then return -1 end
  return math.max(0, math.floor((tonumber(deadline) - now) * 1000000))
end

local function is_past(deadline, now)
  return deadline and deadline ~= '' and tonumber(deadline) <= now + 0.01 -- the worker counts by its own clock
end

-- Of the number of reservations over time, for Little's law. Each request adds the time of its end less that of its
-- acceptance, one when it comes and the other when it goes: what is still open is made up for when somebody looks. Not
-- with INCRBY: the times of 100,000 that are open overflow its 64 bits, and it would refuse every further request. Not
-- with INCRBYFLOAT: in a script it makes Redis 6.2 write past its own memory where that was built without jemalloc.
local LAW_SINCE_S = 1700000000 -- times count from here, which keeps their sums exact to some us
local function law_us() return math.floor((clock() - LAW_SINCE_S) * 1000000) end

local function integral_us()
  return redis.call('HLEN', RESERVATIONS) * law_us() + tonumber(redis.call('HGET', LAW, 'us') or 0)
end

-- Whether it was not there yet.
local function reserve(id, tokens)
  if redis.call('HSETNX', RESERVATIONS, id, tokens) == 0 then return false end
  redis.call('HINCRBYFLOAT', LAW, 'us', -law_us())
  redis.call('INCRBY', RESERVED_TOKENS, tokens)
  count('accepted')
  return true
end

-- Exactly once, however often it is called, as above: the hash entry is the reservation. `outcome`: how the request ended;
-- nil where its job was deleted by hand. `accepted_at`: where the caller has read it.
local function release(id, outcome, accepted_at)
  local tokens = tonumber(redis.call('HGET', RESERVATIONS, id) or 0)
  if tokens > 0 then
    redis.call('HDEL', RESERVATIONS, id)
    redis.call('HINCRBYFLOAT', LAW, 'us', law_us())
    redis.call('DECRBY', RESERVED_TOKENS, tokens)
    count(outcome or 'removed')
    local since = tonumber(accepted_at or redis.call('HGET', job_key(id), 'accepted_at') or nil)
    if since then
      redis.call('HINCRBY', COUNTS, 'stay_us', math.max(0, math.floor((clock() - since) * 1000000)))
    end
  end
  return tokens
end

-- Lua's unpack fails near 8,000 values.
local function in_slices(command, key, values)
  for first = 1, #values, 1000 do
    redis.call(command, key, unpack(values, first, math.min(first + 999, #values)))
  end
end

-- All answers for one API process go out as one message: base64 payloads, one a line.
local function announce(letters, reply_to, payload)
  for channel in string.gmatch(reply_to or '', '%S+') do
    if channel ~= NOBODY then
      letters[channel] = letters[channel] and letters[channel] .. '\n' .. payload or payload
    end
  end
end

local function publish(letters)
  for channel, text in pairs(letters) do redis.call('PUBLISH', channel, text) end
end

local OUTCOMES = { finished = 'done', failed = 'failed', canceled = 'cancelled' }

-- The last move of an id: into finished, failed or canceled.
local function settle(id, status, ttl, now, now_iso, accepted_at)
  redis.call('HSET', job_key(id), 'status', status, 'ended_at', now_iso, 'attempts', 0, 'worker_name', '',
    'cancel_requested', '', 'deadline', '') -- an operator may put a failed one back, and then wants it to run
  redis.call('EXPIRE', job_key(id), ttl)
  redis.call('ZADD', registry_of(status), now + ttl, id)
  local request = redis.call('HGET', job_key(id), 'request')
  if request and request ~= '' and redis.call('EXISTS', request_key(request)) == 1 and
    redis.call('HINCRBY', request_key(request), 'open', -1) <= 0 then
    redis.call('EXPIRE', request_key(request), ttl)
  end
  return release(id, OUTCOMES[status], accepted_at)
end

-- Into canceled: `why` is 'cancelled' (its clients left, or said so) or 'expired', and then `place` says where it was.
local function call_off(id, why, place, now)
  local ttl = tonumber(redis.call('HGET', job_key(id), 'result_ttl')) or 60
  if why ~= 'expired' then return settle(id, 'canceled', ttl, now, iso(now)) end
  redis.call('HSET', job_key(id), 'expired', 1)
  if redis.call('HEXISTS', RESERVATIONS, id) == 1 then count('expired_' .. place) end
  local tokens = release(id, 'expired')
  settle(id, 'canceled', ttl, now, iso(now))
  return tokens
end

-- What became of a job: { 'gone' | 'queued' | 'started' | 'expired' | 'canceled' | 'done', base64 payload }.
local function state_of(id)
  local status = redis.call('HGET', job_key(id), 'status')
  if not status then return { 'gone', '' } end
  if status == 'canceled' then
    return { redis.call('HEXISTS', job_key(id), 'expired') == 1 and 'expired' or 'canceled', '' }
  end
  if status ~= 'finished' and status ~= 'failed' then return { status, '' } end
  local last = redis.call('XREVRANGE', 'rq:results:' .. id, '+', '-', 'COUNT', 1)
  for field = 1, last[1] and #last[1][2] or 0, 2 do
    if last[1][2][field] == 'return_value' then return { 'done', last[1][2][field + 1] } end
  end
  return { 'gone', '' }
end

-- Tokens/s that all workers together can finish; 0 while none knows.
local function service_rate()
  local rate = 0
  for _, worker_rate in ipairs(redis.call('HVALS', 'miniserve:rates')) do rate = rate + tonumber(worker_rate) end
  return rate
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
  local row = { at_s = now, area_s = integral_us() / 1000000 }
  local counts = redis.call('HMGET', COUNTS, 'accepted', 'stay_us', 'refused_sentences', unpack(ENDS))
  row.accepted = tonumber(counts[1] or 0)
  row.stay_s = tonumber(counts[2] or 0) / 1000000
  row.refused = tonumber(counts[3] or 0) -- and below those whom replicas refused without asking here, one sentence each
  row.ended = 0
  for at = 4, #counts do row.ended = row.ended + tonumber(counts[at] or 0) end
  row.iterations = {}
  local totals = redis.call('HGETALL', TOTALS)
  for at = 1, #totals, 2 do
    local name = string.match(totals[at], '^iteration:(.*)$')
    if name then row.iterations[name] = tonumber(totals[at + 1]) end
    if totals[at] == 'rejected:queue-full' then row.refused = row.refused + tonumber(totals[at + 1]) end
  end
  return row
end

local function remember(now)
  local last = redis.call('LINDEX', HISTORY, -1)
  local last_s = last and string.match(last, '"at_s":([%d.]+)') -- all of it is decoded 20 times as slowly
  if last_s and math.abs(now - tonumber(last_s)) < HISTORY_STEP_S then return end
  redis.call('RPUSH', HISTORY, cjson.encode(moment(now)))
  redis.call('LTRIM', HISTORY, -HISTORY_ROWS, -1)
end

-- Back to the front of the queue, oldest first; the callers have taken the ids out of where they were.
local function requeue(ids, attempts_back)
  local waiting = {}
  for _, id in ipairs(ids) do
    local job = redis.call('HMGET', job_key(id), 'status', 'accepted_at')
    if not job[1] then
      release(id) -- the job was deleted by hand
    elseif job[1] == 'started' or job[1] == 'queued' then
      waiting[#waiting + 1] = { id, tonumber(job[2]) or 0 }
      redis.call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
      if attempts_back > 0 and job[1] == 'started' then redis.call('HINCRBY', job_key(id), 'attempts', -attempts_back) end
    end
  end
  table.sort(waiting, function(a, b) return a[2] > b[2] end)
  for _, entry in ipairs(waiting) do redis.call('LPUSH', QUEUE, entry[1]) end
  return #waiting
end

-- Take everything a worker holds away from it; used when it leaves, when it died, and when its engine failed.
local function take_from(worker, attempts_back)
  local ids = ids_run_by(worker)
  for _, id in ipairs(ids) do redis.call('ZREM', WIP, id .. ':' .. worker) end
  for _, id in ipairs(redis.call('LRANGE', claim_key(worker), 0, -1)) do ids[#ids + 1] = id end
  redis.call('DEL', claim_key(worker))
  return requeue(ids, attempts_back)
end

local function unregister(worker)
  local key = 'rq:worker:' .. worker
  redis.call('SREM', 'rq:workers', key)
  redis.call('SREM', 'rq:workers:correct', key)
  redis.call('DEL', key, 'rq:job:batch-' .. worker, 'miniserve:cancel:' .. worker)
  redis.call('ZREM', LEASES, worker)
  redis.call('HDEL', 'miniserve:rates', worker)
end
