-- ENQUEUE: accept a request, or attach to it, or refuse it. One script, so that N API replicas never overshoot the bound.
local id, body_hash, channel, tokens, data, description = unpack(ARGV, 1, 6)
local result_ttl, failure_ttl, timeout, max_requests, max_tokens = unpack(ARGV, 7, 11)
tokens = tonumber(tokens)

local known = redis.call('HMGET', job_key(id), 'body_hash', 'status', 'reply_to')
if known[2] then
  if known[1] ~= body_hash then return { 'conflict' } end
  local reply_to = known[3] or ''
  if not string.find(' ' .. reply_to .. ' ', ' ' .. channel .. ' ', 1, true) then
    redis.call('HSET', job_key(id), 'reply_to', reply_to == '' and channel or reply_to .. ' ' .. channel)
  end
  return { 'attached', known[2] }
end

local requests, reserved = redis.call('HLEN', RESERVATIONS), tonumber(redis.call('GET', RESERVED_TOKENS) or 0)
if requests >= tonumber(max_requests) or reserved + tokens > tonumber(max_tokens) then
  local rate = 0
  for _, worker_rate in ipairs(redis.call('HVALS', 'miniserve:rates')) do rate = rate + tonumber(worker_rate) end
  return { 'full', requests, reserved, tostring(rate) }
end

local now = clock()
local now_iso = iso(now)
redis.call('HSET', job_key(id),
  'data', data, 'created_at', now_iso, 'enqueued_at', now_iso, 'origin', 'correct', 'description', description,
  'status', 'queued', 'timeout', timeout, 'result_ttl', result_ttl, 'failure_ttl', failure_ttl,
  'started_at', '', 'ended_at', '', 'worker_name', '',
  'reserved_tokens', tokens, 'body_hash', body_hash, 'reply_to', channel, 'attempts', 0,
  'accepted_at', string.format('%.6f', now), 'cancel_requested', '')
redis.call('SADD', 'rq:queues', QUEUE)
reserve(id, tokens)
redis.call('RPUSH', QUEUE, id)
return { 'accepted' }
