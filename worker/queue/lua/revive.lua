-- REVIVE: a dead letter back to the end of the queue, past the bound, for an operator asks. One attempt counts as made,
-- so that it runs by itself: it may have killed its workers. ARGV: id.
-- Returns 'revived'; the status of what is no dead letter; '' where there is nothing.
local id = ARGV[1]
local status = call('HGET', job_key(id), 'status')
if status ~= 'failed' then return status or '' end
if is_undone(id, status) then -- by a worker of RQ's
  put_back(id)
else
  call('ZREM', registry_of('failed'), id)
  call('HSET', job_key(id), 'status', 'queued', 'enqueued_at', iso_now(), 'started_at', '', 'ended_at', '', 'attempts', 1,
    'worker_name', '', 'result_ttl', math.max(ttl_of(read(id, 'result_ttl').result_ttl), KEPT_TTL_S)) -- no client waits for its answer, and one that asks for it needs some time
  accept_again(id, number(read(id, 'reserved_tokens').reserved_tokens, 1, MOST_TOKENS) or 1)
end
call('RPUSH', QUEUE, id)
close()
return 'revived'
