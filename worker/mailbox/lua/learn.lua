-- LEARN: add what learners got wrong in answers that an API replica has given. Each report counts once, as in REPORT; and of an
-- answer that can be had again only its first delivery.
-- ARGV: process, number of the report, seconds that a learner is kept, memory in bytes of a Redis without a limit of its own, most
-- verbs of a learner; then per answer: learner, id of its request ('' where it cannot be had again), '1' from POST, number of texts, number of edits, then reason and
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
  if id == '' then return true end
  local record = request_key(id)
  if redis.call('EXISTS', record) == 0 then return is_first end -- nobody can have it again but for a plain GET
  return redis.pcall('HSETNX', record, 'counted', 1) == 1
end

-- One read and one write for all of an answer.
local function add(key, num_texts, first, stop)
  local grown, names, seen = { corrections = tonumber(num_texts) }, { 'since', 'corrections', 'verbs' }, {}
  local function grow(name)
    if not grown[name] then names[#names + 1] = name end
    grown[name] = (grown[name] or 0) + 1
  end
  for at = first, stop, 2 do
    grow('n:' .. ARGV[at])
    seen['at:' .. ARGV[at]] = true
    if ARGV[at + 1] ~= '' then grow('v:' .. ARGV[at] .. ':' .. ARGV[at + 1]) end
  end
  local known = fields_of(key, unpack(names))
  local verbs, fields = number(known.verbs, 0) or 0, { 'since', number(known.since) or now }
  for name, by in pairs(grown) do
    local is_verb = string.sub(name, 1, 2) == 'v:' and not known[name]
    if not is_verb or verbs < tonumber(most_verbs) then
      if is_verb then verbs = verbs + 1 end
      fields[#fields + 1] = name
      fields[#fields + 1] = string.format('%.0f', (number(known[name], 0) or 0) + by)
    end
  end
  for name in pairs(seen) do
    fields[#fields + 1] = name
    fields[#fields + 1] = now
  end
  write('HSET', key, 'verbs', verbs, unpack(fields))
  redis.call('EXPIRE', key, ttl)
end

local at, lately = 6, {}
while at <= #ARGV do
  local learner, id, is_first, num_texts, num_edits = unpack(ARGV, at, at + 4)
  local first, key = at + 5, 'miniserve:learner:' .. learner
  at = first + 2 * tonumber(num_edits)
  if redis.call('EXISTS', 'miniserve:forgotten:' .. learner) == 0 and is_new(id, is_first == '1') then
    add(key, num_texts, first, at - 1)
    lately[#lately + 1] = now
    lately[#lately + 1] = learner
  end
end

if #lately > 0 then in_slices('ZADD', LEARNERS, lately) end
redis.call('ZREMRANGEBYSCORE', LEARNERS, '-inf', now - tonumber(ttl))
local memory = counts('max_memory').max_memory or 0
local most = math.floor((memory > 0 and memory or tonumber(max_memory)) / LEARNER_BYTES)
for _ = most + 1, redis.call('ZCARD', LEARNERS) do
  redis.call('DEL', 'miniserve:learner:' .. redis.call('ZPOPMIN', LEARNERS)[1])
end
return 0
