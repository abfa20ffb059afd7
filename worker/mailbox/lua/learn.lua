-- LEARN: add what learners got wrong in answers that an API replica has given. Each report counts once, as in REPORT; and of an
-- answer that can be had again only its first delivery.
-- ARGV: process, number of the report, seconds that a learner is kept, memory in bytes of a Redis without a limit of its own, most
-- verbs of a learner; then per answer: learner, id of its request, '1' from POST, number of texts, number of edits, then reason and
-- verb ('' where it is not known) of each edit. No text of a user is in it.
--   miniserve:learners            ZSET  learner -> when last seen
--   miniserve:learner:<digest>    HASH  since, corrections, verbs: how many are counted; n:<reason>, at:<reason>, v:<reason>:<verb>.
--   miniserve:forgotten:<digest>  STRING  for a moment, of one who was just forgotten: what is under way comes too late
local process, serial, ttl, max_memory, most_verbs = unpack(ARGV, 1, 5)
local LEARNERS, LEARNER_BYTES = 'miniserve:learners', 65536 -- of memory for each: the most that one takes is a seventh of it
local reported = 'miniserve:reported:' .. process
if (number(redis.call('GET', reported)) or 0) >= tonumber(serial) then return 0 end
redis.call('SET', reported, serial, 'EX', 3600) -- the first write is one that a Redis without memory refuses: nothing half done
local now = string.format('%.0f', clock())

local function is_new(id, is_first)
  local record = request_key(id)
  if redis.call('EXISTS', record) == 0 then return is_first end -- nobody can have it again but for a plain GET
  return redis.pcall('HSETNX', record, 'counted', 1) == 1
end

local function add(key, reason, verb)
  redis.pcall('HINCRBY', key, 'n:' .. reason, 1) -- of what is no number, as somebody else wrote it, nothing comes
  redis.call('HSET', key, 'at:' .. reason, now)
  local field = 'v:' .. reason .. ':' .. verb
  if verb == '' then return end
  if redis.call('HEXISTS', key, field) == 0 then
    if (number(redis.call('HGET', key, 'verbs')) or 0) >= tonumber(most_verbs) then return end
    redis.pcall('HINCRBY', key, 'verbs', 1)
  end
  redis.pcall('HINCRBY', key, field, 1)
end

local at = 6
while at <= #ARGV do
  local learner, id, is_first, num_texts, num_edits = unpack(ARGV, at, at + 4)
  local first, key = at + 5, 'miniserve:learner:' .. learner
  at = first + 2 * tonumber(num_edits)
  if redis.call('EXISTS', 'miniserve:forgotten:' .. learner) == 0 and is_new(id, is_first == '1') then
    write('HSETNX', key, 'since', now)
    redis.pcall('HINCRBY', key, 'corrections', num_texts)
    for edit = first, at - 1, 2 do add(key, ARGV[edit], ARGV[edit + 1]) end
    redis.call('EXPIRE', key, ttl)
    redis.call('ZADD', LEARNERS, now, learner)
  end
end

redis.call('ZREMRANGEBYSCORE', LEARNERS, '-inf', now - tonumber(ttl))
local memory = counts('max_memory').max_memory or 0
local most = math.floor((memory > 0 and memory or tonumber(max_memory)) / LEARNER_BYTES)
for _ = most + 1, redis.call('ZCARD', LEARNERS) do
  redis.call('DEL', 'miniserve:learner:' .. redis.call('ZPOPMIN', LEARNERS)[1])
end
return 0
