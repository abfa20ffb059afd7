-- HAND_OVER: jobs whose prompt a prefill worker has read wait for a decode worker.
--   miniserve:handoff:<id>   STRING  keys and values of the prompt, and its first token (worker/pools/handoff.py)
-- The bytes go neither into the append-only file nor to replicas: a prompt whose bytes are lost is read again. None are stored
-- while Redis uses half of its memory, which is for requests and answers.
-- ARGV: worker, ms that bytes are kept, then id, bytes of each job. Returns the number of jobs that wait now.
local worker, kept_ms = unpack(ARGV, 1, 2)
local memory = counts('used_memory', 'max_memory')
local has_room = memory.max_memory == 0 or memory.used_memory < memory.max_memory / 2
for at = 3, #ARGV, 2 do
  local id, handoff = ARGV[at], ARGV[at + 1]
  -- A Redis without memory takes this write, and then the others.
  local was_own = call('ZREM', WIP, id .. ':' .. worker) == 1
  local job = read(id, 'status', 'worker_name')
  if not job.status then
    release(id) -- deleted by hand
  elseif was_own and job.status == 'started' and job.worker_name == worker then
    redis.set_repl(redis.REPL_NONE)
    if has_room then call('SET', 'miniserve:handoff:' .. id, handoff, 'PX', kept_ms) end
    redis.set_repl(redis.REPL_ALL)
    call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
    call('RPUSH', DECODE, id)
  end
end
close()
return call('LLEN', DECODE)
