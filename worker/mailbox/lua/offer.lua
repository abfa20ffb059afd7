-- OFFER: what a prefill worker has read may go on with a decode worker. Until one takes it over it stays this worker's.
--   miniserve:offers         LIST    "<id>:<worker>" in order; TAKE_OVER passes over what is that worker's no more
--   miniserve:handoff:<id>   STRING  keys and values of the prompt, and its first token (worker/pools/handoff.py)
--   miniserve:handoffs       ZSET    "<id>:<bytes>" -> when they are forgotten: bounds their number and their bytes
-- What is beyond the bound is not taken, and offered again later. The bytes are only in memory: neither the append-only file
-- nor a replica gets them, for what is lost is computed again.
-- ARGV: worker, ms that bytes are kept, then id, bytes of each job. Returns how many were taken.
local worker, kept_ms = ARGV[1], tonumber(ARGV[2])
local MOST_OFFERS, MOST_BYTES = 4096, 64 * 1048576
local OFFERS, HANDOFFS = 'miniserve:offers', 'miniserve:handoffs'
redis.call('ZREMRANGEBYSCORE', HANDOFFS, '-inf', clock())
local bytes = 0
for _, member in ipairs(redis.call('ZRANGE', HANDOFFS, 0, -1)) do
  local _, size = owner_of(member)
  bytes = bytes + (number(size, 0) or 0)
end
local taken = 0
for at = 3, #ARGV, 2 do
  local id, handoff = ARGV[at], ARGV[at + 1]
  local job = read(id, 'status', 'worker_name')
  local is_own = job.status == 'started' and job.worker_name == worker
  if is_own and redis.call('LLEN', OFFERS) < MOST_OFFERS and bytes + #handoff <= MOST_BYTES then
    redis.set_repl(redis.REPL_NONE)
    redis.call('SET', 'miniserve:handoff:' .. id, handoff, 'PX', kept_ms)
    redis.set_repl(redis.REPL_ALL)
    redis.call('ZADD', HANDOFFS, clock() + kept_ms / 1000, id .. ':' .. #handoff)
    redis.call('RPUSH', OFFERS, id .. ':' .. worker)
    bytes, taken = bytes + #handoff, taken + 1
  end
end
return taken
