-- FINISH: store and publish answers, each only if this worker still runs the request. First answer wins.
-- ARGV: worker, then per answer: id, final status ('length': finished, and cut), base64 payload, base64 error text or ''.
-- Returns { number of duplicates dropped, tokens released }
local worker = ARGV[1]
local now = clock()
local now_iso = iso(now)
local duplicates, released, successes, failures = 0, 0, 0, 0
local letters = {}

local function store(id, status, payload, error_text, ttl)
  local fields = { 'type', status == 'finished' and 1 or 2, 'worker_name', worker, 'return_value', payload }
  if error_text ~= '' then
    fields[#fields + 1] = 'exc_string'
    fields[#fields + 1] = error_text
  end
  redis.call('XADD', 'rq:results:' .. id, 'MAXLEN', 10, '*', unpack(fields))
  redis.call('EXPIRE', 'rq:results:' .. id, ttl)
end

for at = 2, #ARGV, 4 do
  local id, status, payload, error_text = unpack(ARGV, at, at + 3)
  local job = redis.call('HMGET', job_key(id), 'status', 'worker_name', 'reply_to', 'result_ttl', 'failure_ttl',
    'cancel_requested', 'deadline', 'accepted_at')
  redis.call('ZREM', WIP, id .. ':' .. worker)
  if job[1] == 'started' and job[2] == worker then
    local is_over = true
    local is_cut = status == 'length'
    if is_cut then status = 'finished' end
    if status == 'canceled' or status == 'expired' then
      local why = status == 'expired' and is_past(job[7], now) and status or job[6]
      if why and why ~= '' then
        released = released + call_off(id, why, 'running', now)
      else
        requeue({ id }, 1) -- somebody has come since the worker was told, or waits for longer
        is_over = false
      end
    else
      local ttl = tonumber((status == 'failed' and job[5] or job[4]) or 60)
      store(id, status, payload, error_text, ttl)
      local tokens = settle(id, status, ttl, now, now_iso, job[8])
      if is_cut and tokens > 0 then count('done_length') end
      released = released + tokens
    end
    if is_over then announce(letters, job[3], payload) end
    if status == 'finished' then successes = successes + 1 end
    if status == 'failed' then failures = failures + 1 end
  elseif not job[1] then
    released = released + release(id) -- deleted by hand while it ran
  else
    duplicates = duplicates + 1
  end
end

publish(letters)
if successes > 0 then redis.call('HINCRBY', 'rq:worker:' .. worker, 'successful_job_count', successes) end
if failures > 0 then redis.call('HINCRBY', 'rq:worker:' .. worker, 'failed_job_count', failures) end
if duplicates > 0 then redis.call('INCRBY', 'miniserve:duplicates', duplicates) end
return { duplicates, released }
