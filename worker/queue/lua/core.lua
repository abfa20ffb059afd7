-- The beginning of every script: the keys, the time, and what is written once for all jobs of a packet. Redis creates the
-- functions of a script whenever it runs, which costs more than a command. So ENQUEUE, DRAIN and FINISH run rules.lua only for
-- a packet that needs it (connection.py: SCRIPTS).
--
-- A request is always in exactly one of: the queue list, one worker's claim list, rq:wip, or a final registry.
-- Every move of an id is one script, so that no reader ever sees it in two places or in none.
--
--   rq:queue:correct              LIST  waiting ids, head = next                              (RQ's, as all rq:* keys)
--   rq:queue:correct-async        LIST  those that nobody waits for; what goes back to a queue goes to the front of the other
--   rq:job:<id>                   HASH  the job; `ticket`: what ENQUEUE knew, in the order of TICKET (rules.lua), and fields of those
--                                       names where it has changed; `special`: more than a plain request
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
--                                       removed); the difference is the length of the reservations. expired_own: of the expired, by a
--                                       time that their client chose. done_length: those of
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
local LEASES, RESERVATIONS, COUNTS = 'miniserve:leases', 'miniserve:reservations', 'miniserve:counts'
local MOST_TOKENS = 1e6 -- of a job: more than any worker has would keep all others waiting
local WIP_TTL_S = 3600 -- RQ's own cleanup fails what stays longer; our leases act within seconds, so this never counts
local MOST_BYTES = 4 * 1048576 -- of the jobs that a script hands over: nobody else is served meanwhile
local SPARE_S = 60 -- beats forget what was answered; Redis would do it so much later, at ten times the cost
local SLICE = 1000 -- Lua's unpack fails near 8,000 values

-- A key of ours that somebody has given another type is put away by the first command that meets it: what was lost with it
-- BEAT makes again from the rest. So no script fails in its middle for that, and leaves half of its work.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call('DEL', (...)) end
  return redis.call(command, ...)
end

local time = redis.call('TIME') -- no time passes within a script
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
-- Of the number of reservations over time, for Little's law. Each request adds the time of its end less that of its
-- acceptance, one when it comes and the other when it goes: what is still open is made up for when somebody looks. A
-- number of Lua is exact to some 16 us here, and does not overflow as the 64 bits of INCRBY would.
local LAW_SINCE_S = 1700000000 -- times count from here, which keeps their sums small
local law_us = math.floor((now - LAW_SINCE_S) * 1000000)

-- Now, as RQ writes times; Redis' Lua has no dates. Days to civil date after H. Hinnant, "chrono-Compatible Low-Level Date
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

-- What is read may have been written by anybody, and a script that fails fails all requests that it moves. So a value that
-- is no number of ours is nil, and so is all that a key of another type holds.
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

-- Back to the front of the queue, in their order.
local function push_front(ids, first, last)
  for at = last or #ids, first or 1, -1 do call('LPUSH', QUEUE, ids[at]) end
end

-- The counts that were read, with those of these names.
local known_counts = {} -- nobody else changes them meanwhile
local function counts(...)
  local names, values = { ... }, call('HMGET', COUNTS, ...)
  for at, what in ipairs(names) do known_counts[what] = number(values[at]) or 0 end
  return known_counts
end

-- The accounts, and the last moves of an id. A script notes what it reserves, releases, counts, ends and publishes, and `close` writes
-- all of it, each kind with one command for any number of jobs. Every script that notes something must end in `close`.
local reserved, released, counted, ended, outgoing = {}, {}, {}, {}, {}
local function close()
  if #released > 0 then in_slices('HDEL', RESERVATIONS, released) end -- first: what is accepted anew has another
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

