-- Joined in front of every other script: the keys, the clock, and how values are read. Redis runs all of it in each call, so
-- what only some scripts need is in accounts.lua, recovery.lua and history.lua (see connection.py).
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
--   miniserve:reservations        HASH  id -> reserved tokens, a blank and the number of its client ('' where it is not
--                                       limited); its length is the number of accepted, unfinished requests
--   miniserve:rates               HASH  worker -> reserved tokens/s that it can finish, and its role
--   miniserve:counts              HASH  of all time: accepted, and how they ended (done, failed, cancelled, expired,
--                                       removed); the difference is the length of the reservations. done_length: those of
--                                       the done that were cut. stay_us: the time all that ended had been in the system.
--                                       refused_full, refused_late, refused_share: HTTP requests; refused_sentences: their
--                                       jobs.
--                                       duplicates: answers dropped because another one was first.
--                                       law_us: the times of all ends less those of all acceptances. And as they are now:
--                                       reserved_tokens and reserved_requests, the sum of the reservations and their number;
--                                       service_rate, that of the rates;
--                                       used_memory and max_memory of this Redis, 0 where they are not known or there is no
--                                       limit; takers, the workers that take from the queue
--   miniserve:totals              HASH  what workers and API replicas counted, summed: field -> number
--   miniserve:reported:<process>  STRING  number of the last report in those sums
--   miniserve:history             LIST  what grows, once a second, the last of two minutes; newest last
--   miniserve:apis                ZSET  API replica -> when it last reported
--   miniserve:request:<id>        HASH  of an HTTP request that may be asked for again: document, ids of its jobs, how many
--                                       are open, digest of its body, `maker`: tokenizer of its answers; lives as long as the
--                                       answer that ended last, or its last dead letter: until `kept_until`. It alone holds a
--                                       text: rq:* is for every user of a dashboard
--   miniserve:key:<digest>        STRING  the request that an idempotency key stands for
-- Keys are made here and not passed in KEYS: this is no Redis Cluster protocol.
local QUEUE, ASYNC, WIP = 'rq:queue:correct', 'rq:queue:correct-async', 'rq:wip:correct'
local LEASES, RESERVATIONS, RATES = 'miniserve:leases', 'miniserve:reservations', 'miniserve:rates'
local COUNTS, TOTALS, HISTORY = 'miniserve:counts', 'miniserve:totals', 'miniserve:history'
local MOST_TOKENS = 1e6 -- of a job: more than any worker has would keep all others waiting
local SUSPENDED = 'rq:suspended' -- by `rq suspend`: workers finish what they run, and take nothing
local NOBODY = '-' -- in the place of a channel: an answer is wanted, and nobody waits for it
local APIS, API_TTL_S = 'miniserve:apis', 2 -- of a replica that reports no more
local WIP_TTL_S = 3600 -- RQ's own cleanup fails what stays longer; our leases act within seconds, so this never counts

-- A key of ours that somebody has given another type is put away by the first command that meets it: what was lost with it
-- RECONCILE makes again from the rest. So no script fails in its middle for that, and leaves half of its work.
local server = redis
local redis = setmetatable({
  call = function(command, ...)
    local reply = server.pcall(command, ...)
    if type(reply) ~= 'table' or not reply.err then return reply end
    if string.find(reply.err, 'WRONGTYPE', 1, true) then server.call('DEL', (...)) end
    return server.call(command, ...)
  end,
}, { __index = server })

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

-- Now, as RQ writes times; Redis' Lua has no dates. Days to civil date after H. Hinnant, "chrono-Compatible Low-Level Date
-- Algorithms", with the era arithmetic reduced to dates after 1970.
local the_text
local function iso_now()
  if the_text then return the_text end
  local now = clock()
  local seconds = math.floor(now)
  local days, rest = math.floor(seconds / 86400) + 719468, seconds % 86400
  local era = math.floor(days / 146097)
  local doe = days - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  the_text = string.format('%04d-%02d-%02dT%02d:%02d:%02d.%06dZ', year, month, doy - math.floor((153 * mp + 2) / 5) + 1,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, math.floor((now - seconds) * 1000000))
  return the_text
end

-- What is read may have been written by anybody, and a script that fails fails all requests that it moves. So a value that
-- is no number of ours is nil, and so is all that a key of another type holds.
local function number(text, least, most)
  local value = tonumber(text or '')
  if value and value >= (least or -1e21) and value <= (most or 1e21) then return value end -- neither is true of nan
end

-- Of the deadline of a job, if it has one. One that cannot be read is over.
local function is_before(deadline, at) return deadline and deadline ~= '' and (number(deadline) or 0) < at end

local function ttl_of(text) return math.floor(number(text, 1, 1e8) or 60) end

-- A hash by name.
local function hash_of(key)
  local hash, flat = {}, redis.call('HGETALL', key)
  for at = 1, #flat, 2 do hash[flat[at]] = flat[at + 1] end
  return hash
end

-- Some of its fields; one that is missing or empty is nil.
local function fields_of(key, ...)
  local hash, names, values = {}, { ... }, redis.pcall('HMGET', key, ...)
  if values.err then return hash end
  for at, value in ipairs(values) do
    if value and value ~= '' then hash[names[at]] = value end
  end
  return hash
end

-- Some fields of a job; nothing under an id that no job may have.
local function is_job_id(id) return #id <= 128 and string.find(id, '^[%w_-]+$') end
local function read(id, ...) return is_job_id(id) and fields_of(job_key(id), ...) or {} end

-- The same for what each request asks: no table grows for it. A missing field is false, an empty one ''.
local function values_of(id, ...)
  if is_job_id(id) then return unpack(redis.pcall('HMGET', job_key(id), ...)) end
end

-- Tokens and client of a reservation.
local function reservation_of(text)
  local tokens, client = string.match(text, '^(%S+) ?(.*)$')
  return number(tokens) or 0, client or ''
end

-- How often its worker died while it held nothing else.
local function attempts_of(text) return number(text, 0, 99) or 0 end

-- Whether a tool of RQ's has failed or stopped a job that has no answer: what our scripts end has no reservation. Such a job
-- still waits.
local UNDONE = { failed = true, stopped = true }
local function is_undone(id, status) return UNDONE[status or ''] and redis.call('HEXISTS', RESERVATIONS, id) == 1 end

local function num_queued() return redis.call('LLEN', QUEUE) + redis.call('LLEN', ASYNC) end

-- Back to the front of the queue, in their order.
local function push_front(ids, first)
  for at = #ids, first or 1, -1 do redis.call('LPUSH', QUEUE, ids[at]) end
end

local SLICE = 1000 -- Lua's unpack fails near 8,000 values
local function in_slices(command, key, values) -- returns the sum of the replies
  local sum = 0
  for first = 1, #values, SLICE do
    local reply = redis.call(command, key, unpack(values, first, math.min(first + SLICE - 1, #values)))
    sum = sum + (tonumber(reply) or 0)
  end
  return sum
end

-- The counts that were read, with those of these names.
local known_counts = {} -- nobody else changes them meanwhile
local function counts(...)
  for what, text in pairs(fields_of(COUNTS, ...)) do known_counts[what] = number(text) end
  return known_counts
end

-- Of the number of reservations over time, for Little's law. Each request adds the time of its end less that of its
-- acceptance, one when it comes and the other when it goes: what is still open is made up for when somebody looks. A
-- number of Lua is exact to some 16 us here, and does not overflow as the 64 bits of INCRBY would.
local LAW_SINCE_S = 1700000000 -- times count from here, which keeps their sums small
local function law_us() return math.floor((clock() - LAW_SINCE_S) * 1000000) end

local function owner_of(member)
  local id, worker = string.match(member, '^([^:]*):(.*)$')
  return id or member, worker or ''
end

local function is_leased(worker)
  local until_s = redis.call('ZSCORE', LEASES, worker)
  return until_s and tonumber(until_s) > clock()
end

-- Of a row of a stream; nil without a row.
local function field_of(row, name)
  for at = 1, row and #row[2] or 0, 2 do
    if row[2][at] == name then return row[2][at + 1] end
  end
end

-- Newest first; none where it is no stream.
local function results_of(id, most)
  local rows = redis.pcall('XREVRANGE', 'rq:results:' .. id, '+', '-', 'COUNT', most)
  return rows.err and {} or rows
end

-- What became of a job: { 'gone' | 'queued' | 'started' | 'expired' | 'canceled' | 'done', base64 payload }.
local function state_of(id)
  local job = read(id, 'status', 'expired', 'cancel_requested', 'worker_name')
  local status = job.status or 'gone'
  if status == 'canceled' then return { job.expired and 'expired' or 'canceled', '' } end
  -- Whoever takes it from a worker that has stopped, ends it.
  if job.cancel_requested and status == 'started' and not is_leased(job.worker_name or '') then
    return { job.cancel_requested == 'expired' and 'expired' or 'canceled', '' }
  end
  if is_undone(id, status) then return { 'queued', '' } end
  if status ~= 'finished' and status ~= 'failed' then return { status, '' } end
  for _, row in ipairs(results_of(id, 10)) do -- a worker of RQ's that fails it afterwards adds one without an answer
    local answer = field_of(row, 'return_value')
    if answer then return { 'done', answer } end
  end
  return { 'gone', '' }
end
