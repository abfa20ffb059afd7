-- REGISTER: what a worker does once a second, each for all: it shows itself to RQ's tools, takes back what nobody with a lease
-- holds, and forgets what has expired.
-- ARGV: worker, number of sequences held, rate in reserved tokens/s, then fields and values of its RQ worker hash.
-- Returns { reservations match the places, decode workers, names of RQ's own workers }
local worker, num_held, rate = unpack(ARGV, 1, 3)
local key, batch = 'rq:worker:' .. worker, 'batch-' .. worker
call('SADD', 'rq:queues', QUEUE, ASYNC)
call('SADD', 'rq:workers', key)
call('SADD', 'rq:workers:correct', key)
call('SADD', 'rq:workers:correct-async', key)
call('HSET', key, 'last_heartbeat', iso_now(), 'state', num_held == '0' and 'idle' or 'busy',
  unpack(ARGV, 4))
call('EXPIRE', key, 60)
call('HSET', RATES, worker, rate)
local num_decoders = sum_rates()

-- What the dashboard shows as "current job". It is a display, in no queue, and nobody runs it. Its `data` is the one
-- constant here that is no JSON, because the dashboard's workers page reads this field with RQ's default serializer.
-- RQ 3 finds it by an execution.
local execution = batch .. ':' .. batch
if num_held == '0' then
  call('HDEL', key, 'current_job')
  call('DEL', key .. ':executions')
else
  call('SADD', key .. ':executions', execution)
  call('EXPIRE', key .. ':executions', 60)
  call('HSET', 'rq:execution:' .. execution, 'job_id', batch, 'created_at', now, 'last_heartbeat', now, 'worker_name', worker)
  call('EXPIRE', 'rq:execution:' .. execution, 60)
  call('HSET', key, 'current_job', batch)
  call('HSET', job_key(batch), 'data', "(S'continuous batch'\nN)}t.", 'created_at', iso_now(), 'origin', 'correct',
    'status', 'started', 'description', 'continuous batch: ' .. num_held .. ' sequences')
  call('EXPIRE', job_key(batch), 60)
end

-- Work of owners without any lease: of RQ's workers, and after a Redis that came back without its last moments.
local is_live, ids_of = {}, {}
for _, live in ipairs(call('ZRANGE', LEASES, 0, -1)) do is_live[live] = true end
for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do
  local id, owner = owner_of(member)
  if not is_live[owner] then
    call('ZREM', WIP, member)
    ids_of[owner] = ids_of[owner] or {}
    table.insert(ids_of[owner], id)
  end
end
for owner, ids in pairs(ids_of) do requeue(ids, owner) end

for _, status in ipairs({ 'failed', 'canceled' }) do
  call('ZREMRANGEBYSCORE', registry_of(status), '-inf', now)
end

-- What a worker of RQ's has failed after it was answered is finished, as it was.
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

close()
-- When the numbers differ, somebody changed the queue behind our back (a dashboard emptied it, or put a dead letter
-- back): the caller then runs RECONCILE.
local num_placed = num_queued() + call('ZCARD', WIP)
for live in pairs(is_live) do num_placed = num_placed + call('LLEN', claim_key(live)) end
local num_open = call('HLEN', RESERVATIONS)
local is_consistent = num_open == num_placed and num_open == (counts('reserved_requests').reserved_requests or 0)
remember(now)
return { is_consistent and 1 or 0, num_decoders, foreign_workers() }
