-- LEARN: add what learners got wrong in answers that an API replica has given. Each report counts once, as in REPORT; and of an
-- answer that can be had again only its first delivery.
-- ARGV: process, number of the report, seconds that a learner is kept, memory in bytes of a Redis without a limit of its own, most
-- verbs of a learner; then per answer: learner, its client, id of its request ('' where it cannot be had again), '1' from POST,
-- number of texts, number of edits, then reason and verb ('' where it is not known) of each edit.
local process, serial, ttl, max_memory, most_verbs = unpack(ARGV, 1, 5)
local LEARNER_BYTES = 65536 -- of memory for each: the most that one takes is a seventh of it
local reported = 'miniserve:reported:' .. process
if (number(redis.pcall('GET', reported)) or 0) >= tonumber(serial) then return 0 end
call('SET', reported, serial, 'EX', 3600) -- the first write is one that a Redis without memory refuses: nothing half done
local now = string.format('%.0f', now)

-- Returns the client that holds the learner.
local function add(key, client, num_texts, first, stop)
  local function grow(name, by)
    if type(redis.pcall('HINCRBY', key, name, by)) ~= 'number' then call('HSET', key, name, by) end -- it was no number
  end
  local known = fields_of(key, 'holder', 'verbs')
  local holder, verbs = string.match(known.holder or '', '^%d+$') or client, number(known.verbs, 0) or 0
  call('HSET', key, 'holder', holder)
  call('HSETNX', key, 'since', now)
  grow('corrections', num_texts)
  for at = first, stop, 2 do
    local reason, verb = ARGV[at], ARGV[at + 1]
    local field = 'v:' .. reason .. ':' .. verb
    local is_new_verb = verb ~= '' and call('HEXISTS', key, field) == 0
    grow('n:' .. reason, 1)
    call('HSET', key, 'at:' .. reason, now)
    if is_new_verb then verbs = verbs + 1 end
    if verb ~= '' and not (is_new_verb and verbs > tonumber(most_verbs)) then grow(field, 1) end
  end
  call('HSET', key, 'verbs', math.min(verbs, tonumber(most_verbs)))
  call('EXPIRE', key, ttl)
  return holder
end

local at, lately = 6, {} -- holder -> its learners
while at <= #ARGV do
  local learner, client, id, is_first, num_texts, num_edits = unpack(ARGV, at, at + 5)
  local first = at + 6
  at = first + 2 * tonumber(num_edits)
  if call('EXISTS', 'miniserve:forgotten:' .. learner) == 0 and is_new(id, is_first == '1') then
    local holder = add(learner_key(learner), client, num_texts, first, at - 1)
    lately[holder] = lately[holder] or {}
    lately[holder][learner] = true
  end
end

for holder, learners in pairs(lately) do
  for learner in pairs(learners) do
    call('ZADD', LEARNERS, now, holder .. ':' .. learner)
    call('ZADD', held_key(holder), now, learner)
  end
  call('EXPIRE', held_key(holder), ttl)
  count_held(holder)
end
for _, entry in ipairs(call('ZRANGEBYSCORE', LEARNERS, '-inf', now - tonumber(ttl), 'LIMIT', 0, 1000)) do drop_entry(entry) end

-- Where all have one learner the oldest of all makes room. A holder that has none was miscounted by somebody else.
local function entry_too_many()
  local holder, num = unpack(call('ZREVRANGE', HOLDERS, 0, 0, 'WITHSCORES'))
  if not holder or tonumber(num) == 1 then return call('ZRANGE', LEARNERS, 0, 0)[1] end
  local oldest = call('ZRANGE', held_key(holder), 0, 0)[1]
  if oldest then return holder .. ':' .. oldest end
  count_held(holder)
end

local memory = counts('max_memory').max_memory or 0
local most = math.floor((memory > 0 and memory or tonumber(max_memory)) / LEARNER_BYTES)
for _ = 1, math.min(call('ZCARD', LEARNERS) - most, 1000) do
  local entry = entry_too_many()
  if entry then
    local holder, learner = owner_of(entry)
    if (fields_of(learner_key(learner), 'holder').holder or '') == holder then call('DEL', learner_key(learner)) end
    drop_entry(entry)
  end
end
return 0
