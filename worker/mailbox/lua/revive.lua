-- REVIVE: a dead letter back to the end of the queue, past the bound, for an operator asks. One attempt counts as made,
-- so that it runs by itself: it may have killed its workers. ARGV: id.
-- Returns 'revived'; the status of what is no dead letter; '' where there is nothing.
local id = ARGV[1]
local status = redis.call('HGET', job_key(id), 'status')
if status ~= 'failed' then return status or '' end
local now = clock()
unkeep(id, 'failed')
redis.call('HSET', job_key(id), 'status', 'queued', 'enqueued_at', iso_now(), 'started_at', '', 'ended_at', '',
  'attempts', 1, 'worker_name', '', 'accepted_at', string.format('%.6f', now), 'cancel_requested', '', 'deadline', '')
redis.call('PERSIST', job_key(id))
reserve(id, number(read(id, 'reserved_tokens').reserved_tokens, 1) or 1)
redis.call('RPUSH', QUEUE, id)
close()
return 'revived'
