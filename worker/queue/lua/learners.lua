-- A learner is held by the client that brought it first, an API key or an address.
--   miniserve:learners            ZSET  learner -> when last seen
--   miniserve:learners:<client>   ZSET  the same of those that a client holds
--   miniserve:learner:<digest>    HASH  since, holder, corrections, verbs: how many are counted; n:<reason>, at:<reason>, v:<reason>:<verb>.
--   miniserve:forgotten:<digest>  STRING  for a moment, of one who was just forgotten: what is under way comes too late
-- No text of a user is in it.
local LEARNERS = 'miniserve:learners'
local function learner_key(learner) return 'miniserve:learner:' .. learner end
local function held_key(client) return 'miniserve:learners:' .. client end
local function holder_of(learner) return string.match(fields_of(learner_key(learner), 'holder').holder or '', '^%d+$') end

local function drop(learner, client)
  call('ZREM', LEARNERS, learner)
  call('ZREM', held_key(holder_of(learner) or client), learner)
  call('DEL', learner_key(learner))
end
