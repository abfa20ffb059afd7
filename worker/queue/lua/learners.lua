-- Whose a learner is: of the client that brought it first, an API key or an address. When there is no room, the client that has the
-- most learners gives one up, its own oldest, so no client can push out those of another that has fewer.
--   miniserve:learners             ZSET  <holder>:<learner> -> when last seen; holder: the number of a client
--   miniserve:learners:<holder>    ZSET  learner -> when last seen
--   miniserve:learner_holders      ZSET  holder -> how many learners it has
--   miniserve:learner:<digest>     HASH  since, holder, corrections, verbs: how many are counted; n:<reason>, at:<reason>, v:<reason>:<verb>.
--   miniserve:forgotten:<digest>   STRING  for a moment, of one who was just forgotten: what is under way comes too late
-- No text of a user is in it.
local LEARNERS, HOLDERS = 'miniserve:learners', 'miniserve:learner_holders'
local function learner_key(learner) return 'miniserve:learner:' .. learner end
local function held_key(holder) return 'miniserve:learners:' .. holder end

local function count_held(holder)
  local num = call('ZCARD', held_key(holder))
  if num > 0 then call('ZADD', HOLDERS, num, holder) else call('ZREM', HOLDERS, holder) end
end

-- The caller deletes the hash.
local function drop_entry(entry)
  local holder, learner = owner_of(entry)
  call('ZREM', LEARNERS, entry)
  call('ZREM', held_key(holder), learner)
  count_held(holder)
end
