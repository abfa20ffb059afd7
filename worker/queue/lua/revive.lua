-- REVIVE: put a dead letter at the end of the queue, even if the queue is full. One attempt counts as made, so that it runs
-- alone: it may have killed its workers. ARGV: id.
-- Returns 'revived', the status of a job that is no dead letter, or '' for none.
local id = ARGV[1]
local status = call('HGET', job_key(id), 'status')
if status ~= 'failed' then return status or '' end
if is_undone(id, status) then -- by a worker of RQ's
  put_back(id)
else
  call('ZREM', registry_of('failed'), id)
  call('HSET', job_key(id), 'status', 'queued', 'enqueued_at', iso_now(), 'started_at', '', 'ended_at', '', 'attempts', 1,
    'worker_name', '', 'result_ttl', math.max(ttl_of(read(id, 'result_ttl').result_ttl), KEPT_TTL_S)) -- an operator fetches its answer later
  accept_again(id, number(read(id, 'reserved_tokens').reserved_tokens, 1, MOST_TOKENS) or 1)
end
call('RPUSH', QUEUE, id)
close()
return 'revived'
