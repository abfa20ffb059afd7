-- LEARN: add what learners got wrong in answers that an API replica has given. Each report counts once, as in REPORT; and of an
-- answer that can be had again only its first delivery.
-- ARGV: process, number of the report, seconds that a learner is kept, memory in bytes of a Redis without a limit of its own, most
-- verbs of a learner; then per answer: learner, its client, id of its request ('' where it cannot be had again), '1' from POST,
-- number of texts, number of kinds of edits, then reason, verb ('' where it is not known) and number of each kind.
local process, serial, ttl, max_memory, most_verbs = unpack(ARGV, 1, 5)
local LEARNER_BYTES = 65536 -- of memory for each: the most that one takes is a seventh of it
local reported = 'miniserve:reported:' .. process
if (number(redis.pcall('GET', reported)) or 0) >= tonumber(serial) then return 0 end
call('SET', reported, serial, 'EX', 3600) -- the first write is one that a Redis without memory refuses: nothing half done
local now = string.format('%.0f', now)

local memory = counts('max_memory').max_memory
local most = math.max(1, math.floor((memory > 0 and memory or tonumber(max_memory)) / LEARNER_BYTES))

-- A new learner of a client takes the place of the one unseen for longest; of one that the client holds itself, where the
-- client would push out another's that holds fewer.
local function make_room(client)
  local oldest = call('ZRANGE', LEARNERS, 0, 0)[1]
  local num_own, num_other = call('ZCARD', held_key(client)), call('ZCARD', held_key(holder_of(oldest) or ''))
  drop(num_own > num_other and call('ZRANGE', held_key(client), 0, 0)[1] or oldest, client)
end

local function add(learner, client, num_texts, first, stop)
  local key = learner_key(learner)
  local function grow(name, by)
    if type(redis.pcall('HINCRBY', key, name, by)) ~= 'number' then call('HSET', key, name, by) end -- it was no number
  end
  if not call('ZSCORE', LEARNERS, learner) then
    for _ = most, math.min(call('ZCARD', LEARNERS), most + 1000) do make_room(client) end
  end
  local holder, verbs = holder_of(learner) or client, number(fields_of(key, 'verbs').verbs, 0) or 0
  call('HSET', key, 'holder', holder)
  call('HSETNX', key, 'since', now)
  grow('corrections', num_texts)
  for at = first, stop, 3 do
    local reason, verb, number_of_kind = ARGV[at], ARGV[at + 1], ARGV[at + 2]
    local field = 'v:' .. reason .. ':' .. verb
    local is_new_verb = verb ~= '' and call('HEXISTS', key, field) == 0
    grow('n:' .. reason, number_of_kind)
    call('HSET', key, 'at:' .. reason, now)
    if is_new_verb then verbs = verbs + 1 end
    if verb ~= '' and not (is_new_verb and verbs > tonumber(most_verbs)) then grow(field, number_of_kind) end
  end
  call('HSET', key, 'verbs', math.min(verbs, tonumber(most_verbs)))
  for _, set in ipairs({ LEARNERS, held_key(holder) }) do
    call('ZADD', set, now, learner)
    call('ZREMRANGEBYSCORE', set, '-inf', now - tonumber(ttl))
    call('EXPIRE', set, ttl)
  end
  call('EXPIRE', key, ttl)
end

local at = 6
while at <= #ARGV do
  local learner, client, id, is_first, num_texts, num_kinds = unpack(ARGV, at, at + 5)
  local first = at + 6
  at = first + 3 * tonumber(num_kinds)
  if call('EXISTS', 'miniserve:forgotten:' .. learner) == 0 and is_new(id, is_first == '1') then
    add(learner, client, num_texts, first, at - 1)
  end
end
return 0
