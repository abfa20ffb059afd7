-- OFFER: what a prefill worker has read may go on with a decode worker. Until one takes it over it stays this worker's.
--   miniserve:offers         LIST    "<id>:<worker>" in order; TAKE_OVER passes over what is that worker's no more
--   miniserve:handoff:<id>   STRING  keys and values of the prompt, and its first token (worker/pools/handoff.py)
--   miniserve:handoffs       ZSET    "<id>:<bytes>" -> when they are forgotten: bounds their number and their bytes
-- Their bytes are at most an eighth of Redis' memory, but for a single one: requests and answers have half of it.
-- What is beyond the bound is not taken, and offered again later. What is offered again stays in its place. The bytes go neither
-- into the append-only file nor to replicas, but for those that are written anew meanwhile: what is lost is computed again.
-- ARGV: worker, ms that bytes are kept, then id, bytes of each job. Returns how many were taken.
local worker, kept_ms = ARGV[1], tonumber(ARGV[2])
local MOST_OFFERS, MOST_BYTES = 4096, 64 * 1048576
local memory = counts('max_memory').max_memory or 0
if memory > 0 then MOST_BYTES = math.min(MOST_BYTES, memory / 8) end
local OFFERS, HANDOFFS = 'miniserve:offers', 'miniserve:handoffs'
local bytes, taken = 0, 0
for _, member in ipairs(call('ZRANGEBYSCORE', HANDOFFS, now, '+inf')) do
  local _, size = owner_of(member)
  bytes = bytes + (number(size, 0) or 0)
end
for at = 3, #ARGV, 2 do
  local id, handoff = ARGV[at], ARGV[at + 1]
  local job, key, offer = read(id, 'status', 'worker_name'), 'miniserve:handoff:' .. id, id .. ':' .. worker
  local more = call('EXISTS', key) == 1 and 0 or #handoff
  local has_room = call('LLEN', OFFERS) < MOST_OFFERS and (bytes == 0 or more == 0 or bytes + more <= MOST_BYTES)
  if job.status == 'started' and job.worker_name == worker and has_room then
    redis.set_repl(redis.REPL_NONE)
    call('SET', key, handoff, 'PX', kept_ms) -- the first write: a Redis without memory refuses it, and so all of this
    redis.set_repl(redis.REPL_ALL)
    call('ZADD', HANDOFFS, now + kept_ms / 1000, id .. ':' .. #handoff)
    if more > 0 or not call('LPOS', OFFERS, offer) then call('RPUSH', OFFERS, offer) end
    bytes, taken = bytes + more, taken + 1
  end
end
call('ZREMRANGEBYSCORE', HANDOFFS, '-inf', now)
return taken
