-- ENQUEUE: accept requests, or attach to those known, or refuse them: all or none. One script, so that N API replicas
-- never overshoot the bound and nothing of a refused text stays behind.
-- ARGV: channel, result ttl, failure ttl, timeout, greatest number of requests, of tokens, seconds after which the
-- answer is of no use ('': none); of the HTTP request: its id ('': not to be found later), document, digest of its body,
-- digest of its idempotency key ('': none), ttl of these, '1' where somebody follows the decoding, who can read the document
-- again; then per job, their ids all different: id, body hash, reserved tokens, data, description.
-- Returns { 'accepted' | 'attached' | 'conflict' }; { 'known', id }: the key stands for that request, and its jobs are to
-- be asked for; { 'full', ... } and { 'late', ... } with the numbers of the refusal.
local channel, result_ttl, failure_ttl, timeout, max_requests, max_tokens, within_s = unpack(ARGV, 1, 7)
local request_id, document, digest, key, request_ttl, streams, maker = unpack(ARGV, 8, 14)
local FIRST, STEP = 15, 5

if key ~= '' then
  local known = redis.call('GET', 'miniserve:key:' .. key)
  local found = known and redis.call('HMGET', request_key(known), 'digest', 'maker') or {}
  if found[1] and found[1] ~= digest then return { 'conflict' } end
  if found[1] and found[2] == maker and known ~= request_id then return { 'known', known } end
end

local reply_to_of, was_called_off = {}, {} -- of the known ones
local num_new, new_tokens, num_known, num_open = 0, 0, 0, 0
for at = FIRST, #ARGV, STEP do
  local id, body_hash, tokens = unpack(ARGV, at, at + 2)
  local known = redis.call('HMGET', job_key(id), 'body_hash', 'status', 'reply_to')
  was_called_off[id] = known[2] == 'canceled' -- it begins anew
  if known[2] and not was_called_off[id] then
    if known[1] ~= body_hash then return { 'conflict' } end
    reply_to_of[id] = known[3] or ''
    num_known = num_known + 1
    if known[2] == 'queued' or known[2] == 'started' then num_open = num_open + 1 end
  else
    num_new, new_tokens = num_new + 1, new_tokens + tonumber(tokens)
  end
end

if num_new > 0 then
  local requests, reserved = redis.call('HLEN', RESERVATIONS), tonumber(redis.call('GET', RESERVED_TOKENS) or 0)
  if requests + num_new > tonumber(max_requests) or reserved + new_tokens > tonumber(max_tokens) then
    count('refused_full')
    redis.call('HINCRBY', COUNTS, 'refused_sentences', num_new)
    return { 'full', requests, reserved, tostring(service_rate()) }
  end
  -- 0: not known yet. An empty queue takes whatever comes, or a rate that was measured wrong once would stand for ever.
  local rate = within_s ~= '' and reserved > 0 and service_rate() or 0
  if rate > 0 and (reserved + new_tokens) / rate > tonumber(within_s) then
    count('refused_late')
    redis.call('HINCRBY', COUNTS, 'refused_sentences', num_new)
    return { 'late', reserved + new_tokens, tostring(rate) }
  end
end

-- First of all, for a Redis without memory refuses a script at its first write only, and only what needs some: what it
-- took would wait in vain, as it refuses DRAIN.
if num_new > 0 then redis.call('SADD', 'rq:queues', QUEUE) end

local now = clock()
local now_iso = iso(now)
local deadline = within_s ~= '' and string.format('%.6f', now + tonumber(within_s)) or ''
local ids, accepted = {}, {} -- each a microsecond after the one before, so that their order outlives their worker

-- Somebody waits for it longer now, or without end.
local function extend_deadline(id)
  local known = redis.call('HGET', job_key(id), 'deadline')
  if known and known ~= '' and (deadline == '' or tonumber(deadline) > tonumber(known)) then
    redis.call('HSET', job_key(id), 'deadline', deadline)
  end
end

for at = FIRST, #ARGV, STEP do
  local id, body_hash, tokens, data, description = unpack(ARGV, at, at + 4)
  local reply_to = reply_to_of[id]
  ids[#ids + 1] = id
  if not reply_to then
    if was_called_off[id] then
      redis.call('ZREM', registry_of('canceled'), id)
      redis.call('HDEL', job_key(id), 'expired')
      redis.call('PERSIST', job_key(id))
    end
    redis.call('HSET', job_key(id),
      'data', data, 'created_at', now_iso, 'enqueued_at', now_iso, 'origin', 'correct', 'description', description,
      'status', 'queued', 'timeout', timeout, 'result_ttl', result_ttl, 'failure_ttl', failure_ttl,
      'started_at', '', 'ended_at', '', 'worker_name', '',
      'reserved_tokens', tokens, 'body_hash', body_hash, 'reply_to', channel, 'attempts', 0,
      'accepted_at', string.format('%.6f', now + #accepted / 1000000), 'cancel_requested', '', 'deadline', deadline,
      'streams', streams, 'request', request_id)
    reserve(id, tonumber(tokens))
    accepted[#accepted + 1] = id
  else
    extend_deadline(id)
    if streams == '1' then redis.call('HSET', job_key(id), 'streams', streams) end -- from its next start on
    if reply_to == '' then -- the last one has just left, and the worker may not know it yet
      local job = redis.call('HMGET', job_key(id), 'cancel_requested', 'worker_name')
      if job[1] and job[1] ~= '' then redis.call('HSET', job_key(id), 'cancel_requested', '') end
      if job[2] and job[2] ~= '' then redis.call('SREM', 'miniserve:cancel:' .. job[2], id) end
    end
    if not string.find(' ' .. reply_to .. ' ', ' ' .. channel .. ' ', 1, true) then
      redis.call('HSET', job_key(id), 'reply_to', reply_to == '' and channel or reply_to .. ' ' .. channel)
    end
  end
end
if request_id ~= '' then
  num_open = num_open + num_new
  local num_added = redis.call('HSET', request_key(request_id), 'document', document, 'digest', digest, 'maker', maker,
    'jobs', table.concat(ids, ' '), 'open', num_open)
  local ttl = num_added == 5 and -1 or redis.call('TTL', request_key(request_id))
  if ttl < 0 or num_open > 0 and ttl < tonumber(request_ttl) then
    ttl = tonumber(request_ttl)
    redis.call('EXPIRE', request_key(request_id), ttl)
  end
  if key ~= '' then redis.call('SET', 'miniserve:key:' .. key, request_id, 'EX', ttl) end
end
if #accepted > 0 then
  in_slices('RPUSH', QUEUE, accepted)
end
return { num_known > 0 and 'attached' or 'accepted' }
