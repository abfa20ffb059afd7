-- BEAT, once a second.
call('SADD', 'rq:queues', QUEUE, ASYNC)
for _, workers in ipairs({ 'rq:workers', 'rq:workers:correct', 'rq:workers:correct-async' }) do call('SADD', workers, key) end
call('HSET', key, 'last_heartbeat', iso_now(), 'state', num_held == '0' and 'idle' or 'busy', unpack(ARGV, 6))
call('EXPIRE', key, 60)
call('HSET', RATES, worker, rate)
local num_decoders = sum_rates()
-- Workers that do all of a request take nothing from the queue of decode workers.
while num_decoders == 0 and call('RPOPLPUSH', DECODE, QUEUE) do end

-- The dashboard's "current job", which is in no queue and runs nowhere. Its `data` is no JSON because the dashboard's workers
-- page reads it with RQ's default serializer. RQ 3 finds it by an execution.
local batch = 'batch-' .. worker
local execution = batch .. ':' .. batch
if num_held == '0' then
  call('HDEL', key, 'current_job')
  call('DEL', key .. ':executions')
else
  call('SADD', key .. ':executions', execution)
  call('HSET', 'rq:execution:' .. execution, 'job_id', batch, 'created_at', now, 'last_heartbeat', now, 'worker_name', worker)
  call('HSET', key, 'current_job', batch)
  call('HSET', job_key(batch), 'data', "(S'continuous batch'\nN)}t.", 'created_at', iso_now(), 'origin', 'correct',
    'status', 'started', 'description', 'continuous batch: ' .. num_held .. ' sequences')
  for _, each in ipairs({ key .. ':executions', 'rq:execution:' .. execution, job_key(batch) }) do call('EXPIRE', each, 60) end
end

-- Jobs of workers that have no lease at all: RQ's, and ours after a Redis that lost its last moments.
local is_live, owners = {}, {}
for _, live in ipairs(call('ZRANGE', LEASES, 0, -1)) do is_live[live] = true end
for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do
  local _, owner = owner_of(member)
  if not is_live[owner] then owners[owner] = true end
end
for owner in pairs(owners) do take_from(owner, true) end

for _, status in ipairs({ 'failed', 'canceled' }) do
  call('ZREMRANGEBYSCORE', registry_of(status), '-inf', now)
end

-- A job that a worker of RQ's failed after it was answered is finished, as it was.
for _, id in ipairs(failed_by_others()) do
  local rows = results_of(id, 10)
  local at = 1
  while rows[at] and not field_of(rows[at], 'return_value') do at = at + 1 end
  if field_of(rows[at], 'type') == '1' and call('HEXISTS', RESERVATIONS, id) == 0 then
    local ttl = ttl_of(read(id, 'result_ttl').result_ttl)
    for later = 1, at - 1 do call('XDEL', 'rq:results:' .. id, rows[later][1]) end
    call('ZREM', registry_of('failed'), id)
    call('ZADD', registry_of('finished'), math.ceil(now + ttl), id)
    call('HSET', job_key(id), 'status', 'finished')
    for _, each in ipairs({ job_key(id), 'rq:results:' .. id }) do call('EXPIRE', each, ttl) end
  end
end
