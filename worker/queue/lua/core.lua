-- The beginning of every script: the keys, the time, and what is written once for all jobs of a packet. Redis creates the
-- functions of a script whenever it runs, which costs more than a command. So ENQUEUE, DRAIN and FINISH run rules.lua only for
-- a packet that needs it (connection.py: SCRIPTS).
--
-- A job is always in exactly one of: a queue, one worker's claims, rq:wip, or the registry of its end. Each move of a job is
-- one script, so that no reader sees it in two places or in none.
--
--   rq:queue:correct              LIST  ids of waiting jobs, the next one first (RQ's format, as of all rq:* keys)
--   rq:queue:correct-async        LIST  those that no client waits for; once taken, a job goes back to the other queue
--   miniserve:decode              LIST  those whose prompt a prefill worker has read: the queue of the decode workers
--   rq:job:<id>                   HASH  the job. `ticket`: reply_to, accepted_at, result_ttl, reserved_tokens and deadline as ENQUEUE
--                                       knew them; a field of such a name replaces its word. `special`: the job has such fields
--   rq:wip:correct                ZSET  "<id>:<worker>" -> expiry: the jobs that run
--   rq:finished|failed|canceled:correct  ZSET  id -> when it may be forgotten
--   rq:results:<id>               STREAM of the answer
--   miniserve:leases              ZSET  worker -> when its jobs may be given to others
--   miniserve:claim:<worker>      LIST  ids that BLMOVE took and DRAIN has not started
--   miniserve:inbox:<worker>      HASH  `epoch`: the number of its last RESYNC; and ids of jobs that it is to drop
--   miniserve:reservations        HASH  id -> reserved tokens, a blank, and the number of its client ('' if it is not limited). Its
--                                       length is the number of accepted, unfinished jobs
--   miniserve:rates               HASH  worker -> reserved tokens/s that it can finish, and its role
--   miniserve:counts              HASH  of all time: accepted jobs, and how they ended (done, failed, cancelled, expired,
--                                       removed); the difference is the length of the reservations. done_length: done, and cut.
--                                       expired_own: expired by a deadline that the client chose. stay_us: the sum of their times.
--                                       refused_full, refused_late, refused_share: HTTP requests; refused_sentences: their jobs.
--                                       duplicates: answers dropped because another one was first. law_us: times of all ends
--                                       less those of all acceptances. As they are now: reserved_tokens and reserved_requests
--                                       (sum and number of the reservations), service_rate (sum of the rates), takers (workers
--                                       that take from the queue), used_memory and max_memory (0 if unknown or unlimited)
--   miniserve:totals              HASH  what workers and API replicas counted, summed: field -> number
--   miniserve:reported:<process>  STRING  number of the last report in those sums
--   miniserve:history             LIST  what grows, once a second for two minutes, the newest last
--   miniserve:apis                ZSET  API replica -> when it last reported
--   miniserve:request:<id>        HASH  of an HTTP request whose answer may be asked for again: document, ids of its jobs, how many
--                                       are open, digest of its body, `maker`: tokenizer of its answers. It lives as long as the
--                                       last answer, or until `kept_until`, the end of its last dead letter. No other key holds
--                                       a text: every user of a dashboard may read rq:*
--   miniserve:key:<digest>        STRING  the request that an idempotency key stands for
-- The scripts make key names themselves, and KEYS is empty: they do not run on Redis Cluster.
local QUEUE, ASYNC, DECODE, WIP = 'rq:queue:correct', 'rq:queue:correct-async', 'miniserve:decode', 'rq:wip:correct'
local LEASES, RESERVATIONS, COUNTS = 'miniserve:leases', 'miniserve:reservations', 'miniserve:counts'
local MOST_TOKENS = 1e6 -- of a job; one that no worker has room for would keep all others waiting
local WIP_TTL_S = 3600 -- RQ's cleanup fails a job after this; a lease ends within seconds
local MOST_BYTES = 4 * 1048576 -- that a script delivers: Redis serves no other client meanwhile
local SPARE_S = 60 -- beats delete old answers; Redis expires them so much later, at ten times the cost
local SLICE = 1000 -- Lua's unpack fails near 8,000 values

-- Deletes a key of ours that has another type, so that no script fails in its middle and leaves half of its work. BEAT
-- restores what can be known from the other keys.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call('DEL', (...)) end
  return redis.call(command, ...)
end

local time = redis.call('TIME') -- no time passes within a script
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
-- For Little's law, the number of jobs in the system summed over time: each job subtracts the time of its acceptance and adds
-- the time of its end. OBSERVE adds the present time for each open job. Lua's numbers are exact to some 16 us here, and do
-- not overflow as the 64 bits of INCRBY would.
local LAW_SINCE_S = 1700000000 -- times count from here, which keeps the sums small
local law_us = math.floor((now - LAW_SINCE_S) * 1000000)

-- The present time as RQ writes it; Redis' Lua has no dates. Days to civil date after H. Hinnant, "chrono-Compatible Low-Level Date
-- Algorithms", with the era arithmetic reduced to dates after 1970.
local the_text
local function iso_now()
  if the_text then return the_text end
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

-- nil for a text that is no number within the bounds. RQ's tools and operators write to the same keys, and a script that
-- fails would fail all jobs that it moves.
local function number(text, least, most)
  local value = tonumber(text or '')
  if value and value >= (least or -1e21) and value <= (most or 1e21) then return value end -- neither is true of nan
end

local function in_slices(command, key, values) -- returns the sum of the replies
  local sum = 0
  for first = 1, #values, SLICE do
    sum = sum + (tonumber(call(command, key, unpack(values, first, math.min(first + SLICE - 1, #values)))) or 0)
  end
  return sum
end

-- Puts ids back to the front of the queue, in their order.
local function push_front(ids, first, last)
  for at = last or #ids, first or 1, -1 do call('LPUSH', QUEUE, ids[at]) end
end

-- The counts of these names, and those read before: no other client changes them during a script.
local known_counts = {}
local function counts(...)
  local names, values = { ... }, call('HMGET', COUNTS, ...)
  for at, what in ipairs(names) do known_counts[what] = number(values[at]) or 0 end
  return known_counts
end

-- A script notes what it reserves, releases, counts, ends and publishes. `close` writes it, each kind by one command for any
-- number of jobs. Every script that notes something must end with `close`.
local reserved, released, counted, ended, outgoing = {}, {}, {}, {}, {}
local function close()
  if #released > 0 then in_slices('HDEL', RESERVATIONS, released) end -- first: a job that is accepted again has a new one
  if #reserved > 0 then in_slices('HSET', RESERVATIONS, reserved) end
  local unknown, sums = {}, {}
  for what in pairs(counted) do
    if not known_counts[what] then unknown[#unknown + 1] = what end
  end
  if #unknown > 0 then counts(unpack(unknown)) end
  for what, by in pairs(counted) do
    sums[#sums + 1] = what
    sums[#sums + 1] = string.format('%.0f', known_counts[what] + by)
  end
  if #sums > 0 then call('HSET', COUNTS, unpack(sums)) end
  for status, entries in pairs(ended) do in_slices('ZADD', 'rq:' .. status .. ':correct', entries) end
  for channel, lines in pairs(outgoing) do call('PUBLISH', channel, table.concat(lines, '\n')) end
end

