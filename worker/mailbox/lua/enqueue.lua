-- ENQUEUE: accept the jobs of HTTP requests, or attach to those known, or refuse them: of each request all or none. One
-- script, so that N API replicas never overshoot the bound and nothing of a refused text stays behind.
-- ARGV: channel, failure ttl, timeout, greatest number of requests, of tokens, memory in bytes of a Redis without a limit of
-- its own; then per HTTP request: number of jobs, '1' where jobs or key may be known already, result ttl, seconds after which the
-- answer is of no use ('': none), '1' where somebody follows the decoding, '1' where nobody waits, its id, document, digest of its
-- body, tokenizer of its answers, '1' where it has a record of its own, ttl of that, digest of its idempotency key ('': none),
-- number of its client ('': not to be limited), limits of that ('': none; requests and tokens a second, 0 for none); then per job,
-- their ids all different: id, reserved tokens, data, description.
-- Returns per request { 'accepted' | 'attached' | 'conflict' }; { 'known', id }: the key stands for that request, and its
-- jobs are to be asked for; { 'full', ... }, { 'share', ... }, { 'kept', ... }, { 'late', ... } and { 'limit', ... } with the
-- numbers of the refusal; { 'fault', what cannot be read }.
local own_channel, failure_ttl, timeout, max_requests, max_tokens, max_memory = unpack(ARGV, 1, 6)
max_requests, max_tokens = tonumber(max_requests), tonumber(max_tokens)
local REQUEST_WORDS, JOB_WORDS = 15, 4
local now = clock()
local num_open = redis.call('HLEN', RESERVATIONS)
local sums = counts('reserved_tokens', 'service_rate', 'kept_bytes', 'kept_room_at', 'max_memory', 'shares', 'last_client',
  'client_changed_at', 'accepted', 'law_us')
local num_tokens, rate = sums.reserved_tokens or 0, sums.service_rate or 0
-- Half of the memory: what was accepted must always find room to run and to end, and Redis needs some for itself. What is
-- kept for ten minutes, asynchronous or under a key, is taken up to three quarters of that: so it is refused first.
local max_kept = ((sums.max_memory or 0) > 0 and sums.max_memory or tonumber(max_memory)) / 2
local KEPT_SHARE = 0.75
-- Of the queue's own bound what nobody waits for leaves an eighth to those who wait.
local ASYNC_SHARE = 0.875
local ID_BYTES = 60 -- of each job
local kept_bytes = sums.kept_bytes or 0
local pushed, pushed_async, num_accepted = {}, {}, 0 -- each a microsecond after the one before, so that their order outlives their worker

-- While others wait, a client may hold at most half of the queue. Its first sixteenth is anybody's and not counted: a queue that
-- is nearly empty costs no command. A job costs its tokens, at least the mean that the two bounds leave to one: so half of
-- the costs is at most half of either bound.
local SHARE, FREE_SHARE, OTHERS_S = 7 / 16, 1 / 16, 10
local least_cost = math.ceil(max_tokens / max_requests)
local shares = {}

local function share_of(client)
  if not shares[client] then shares[client] = number(fields_of(CLIENTS, client)[client]) or 0 end
  return shares[client]
end

-- Whether somebody else asked lately, or waits.
local function has_others(client)
  local changed_at = (counted.client_changed_at or 0) + (sums.client_changed_at or 0)
  return now - changed_at < OTHERS_S or (sums.shares or 0) + (counted.shares or 0) > share_of(client)
end

local function note_client(client)
  local last = (counted.last_client or 0) + (sums.last_client or 0)
  if client == '' or tonumber(client) == last then return end
  counted.last_client = tonumber(client) - (sums.last_client or 0)
  if last ~= 0 then counted.client_changed_at = math.floor(now) - (sums.client_changed_at or 0) end
end

-- The refusal of its new jobs; nil: they fit. `new_cost`: 0 where their client is not limited.
local function refusal(wanted, within_s)
  local why
  local num_new, new_tokens, new_cost, client, is_async = wanted.num_new, wanted.new_tokens, wanted.new_cost, wanted.client, wanted.is_async
  local bytes = kept_bytes + bytes_of(num_open, num_tokens)
  local most_bytes = (is_async or wanted.key ~= '') and KEPT_SHARE * max_kept or max_kept
  local own, part = new_cost > 0 and share_of(client) or 0, is_async and ASYNC_SHARE or 1
  if own > 0 and own + new_cost > SHARE * max_tokens and has_others(client) then
    why = { 'share', own, math.floor(SHARE * max_tokens), tostring(rate) }
  elseif num_open + num_new > max_requests * part or num_tokens + new_tokens > max_tokens * part then
    why = { 'full', num_open, num_tokens, tostring(rate) }
  elseif bytes + bytes_of(num_new, new_tokens) + wanted.bytes > most_bytes then
    why = { 'kept', bytes, most_bytes, math.max(1, math.ceil((sums.kept_room_at or now) - now)) }
  -- No rate is known yet: accept. So does an empty queue, or a rate that was measured wrong once would stand for ever.
  elseif within_s ~= '' and rate > 0 and num_tokens > 0 and (num_tokens + new_tokens) / rate > tonumber(within_s) then
    -- Asynchronous requests stand before no other: so much of the tokens is theirs as of the requests.
    local behind = is_async and 0 or math.min(1, redis.call('LLEN', ASYNC) / num_open)
    local tokens = num_tokens * (1 - behind) + new_tokens
    if tokens / rate > tonumber(within_s) then why = { 'late', tokens, tostring(rate) } end
  end
  if why then
    count(why[1] == 'kept' and 'refused_full' or 'refused_' .. why[1])
    count('refused_sentences', num_new)
  end
  return why
end

-- GCRA: what a client has used of each limit lasts until a time, and may last for a second from now: so much at once, or one
-- request. Returns the refusal { 'limit', 'requests' | 'tokens', limit, ms until there is room }; or nil, until when it lasts with
-- this request, and for how many seconds.
local function over_limit(client, limits, num_new, tokens)
  local longest_s, untils = 0, {}
  local used = redis.pcall('GET', 'miniserve:limit:' .. client)
  local used_until = type(used) == 'string' and { string.match(used, '^(%S+) (%S+)$') } or {}
  for at, per_s in ipairs({ string.match(limits, '^(%S+) (%S+)$') }) do
    per_s = tonumber(per_s)
    local from, cost = math.max(now, number(used_until[at], 0, now + 1e8) or 0), at == 1 and 1 or tokens
    local slack_s = at == 1 and per_s > 0 and math.max(0, 1 - 1 / per_s) or 1
    if per_s > 0 and from - now > slack_s + 1e-5 then
      count('refused_share')
      count('refused_sentences', num_new)
      return { 'limit', at == 1 and 'requests' or 'tokens', tostring(per_s), math.ceil((from - now - slack_s) * 1000) }
    end
    untils[at] = per_s > 0 and from + cost / per_s or 0
    longest_s = math.max(longest_s, untils[at] - now)
  end
  return nil, string.format('%.6f %.6f', untils[1], untils[2]), math.ceil(longest_s) + 1
end

local function attach(id, reply_to, channel, deadline, streams)
  local job, fields = read(id, 'deadline', 'worker_name'), {}
  local function set(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
  -- Somebody waits for it longer now, or without end.
  if job.deadline and (deadline == '' or tonumber(deadline) > (number(job.deadline) or 0)) then set('deadline', deadline) end
  if streams == '1' then set('streams', streams) end -- from its next start on
  if reply_to == '' then -- the last one has just left, and the worker may not know it yet
    set('cancel_requested', '')
    if job.worker_name then redis.call('HDEL', inbox_key(job.worker_name), id) end
  end
  if not string.find(' ' .. reply_to .. ' ', ' ' .. channel .. ' ', 1, true) then
    set('reply_to', reply_to == '' and channel or reply_to .. ' ' .. channel)
  end
  if #fields > 0 then redis.call('HSET', job_key(id), unpack(fields)) end
end

local function keep_record(wanted, num_running)
  local record, ttl = request_key(wanted.id), wanted.record_ttl
  local num_added = redis.call('HSET', record, 'jobs', table.concat(wanted.ids, ' '), 'open', num_running, 'document',
    wanted.document, 'digest', wanted.digest, 'maker', wanted.tokenizer)
  -- The tokens of its answers count when they are first given: to the client that waits here, or to one that asks later.
  if num_added == 5 and not wanted.is_async then redis.call('HSET', record, 'paid', 1) end
  local left = num_added == 5 and -1 or redis.call('TTL', record)
  if left < 0 or num_running > 0 and left < ttl then
    redis.call('EXPIRE', record, ttl)
    keep(now + ttl, wanted.bytes)
  else
    ttl = math.max(1, left) -- TTL says 0 of the last half second, and no SET takes that
  end
  if wanted.key ~= '' then redis.call('SET', 'miniserve:key:' .. wanted.key, wanted.id, 'EX', ttl) end
end

local function checked(text, least) return number(text, least) or error('not a number of ours: ' .. tostring(text), 0) end

-- Reads and checks all of a request, and writes nothing: whatever is wrong with one is found before the first write, and
-- the others of the packet do not meet it. Returns the reply; without one, what `accept` takes.
local function plan(first, stop)
  local _, may_be_known, result_ttl, within_s, streams, is_async, request_id = unpack(ARGV, first, first + 6)
  local document, digest, tokenizer, has_record, record_ttl, key, client, limits = unpack(ARGV, first + 7, first + 14)
  if key ~= '' then
    local known = redis.pcall('GET', 'miniserve:key:' .. key)
    local found = type(known) == 'string' and fields_of(request_key(known), 'digest', 'maker') or {}
    if found.digest and found.digest ~= digest then return { 'conflict' } end
    if found.digest and found.maker == tokenizer and known ~= request_id then return { 'known', known } end
  end
  note_client(client)
  local jobs, ids, num_known, num_running, num_new, new_tokens, new_cost = {}, {}, 0, 0, 0, 0, 0
  for at = first + REQUEST_WORDS, stop, JOB_WORDS do
    local id, tokens, data, description = unpack(ARGV, at, at + 3)
    local job = { id = id, tokens = checked(tokens, 1), data = data, description = description }
    local known = may_be_known == '1' and read(id, 'status', 'reply_to') or {}
    jobs[#jobs + 1], ids[#ids + 1] = job, id
    if known.status and (known.status ~= 'canceled' or redis.call('HEXISTS', RESERVATIONS, id) == 1) then -- what our scripts cancelled begins again
      job.reply_to, num_known = known.reply_to or '', num_known + 1
      if known.status == 'queued' or known.status == 'started' then num_running = num_running + 1 end
    else
      num_new, new_tokens, new_cost = num_new + 1, new_tokens + job.tokens, new_cost + math.max(least_cost, job.tokens)
    end
  end
  local filled = math.max((num_open + num_new) / max_requests, (num_tokens + new_tokens) / max_tokens)
  local is_limited = client ~= '' and filled > FREE_SHARE
  if not is_limited then new_cost = 0 end
  local wanted = { id = request_id, jobs = jobs, ids = ids, may_be_known = may_be_known == '1', result_ttl = checked(result_ttl, 1),
    deadline = within_s ~= '' and string.format('%.6f', now + checked(within_s, 0)) or '', streams = streams,
    is_async = is_async == '1', document = document, digest = digest, tokenizer = tokenizer, has_record = has_record == '1',
    record_ttl = checked(record_ttl, 1), key = key, client = client, is_limited = is_limited, num_known = num_known,
    num_running = num_running, num_new = num_new, new_tokens = new_tokens, new_cost = new_cost,
    bytes = #document + #jobs * ID_BYTES + (has_record == '1' and RECORD_BYTES or TEXT_BYTES) }
  if num_new == 0 then return nil, wanted end
  local refused = refusal(wanted, within_s)
  if not refused and limits ~= '' then
    refused, wanted.used_until, wanted.used_for_s = over_limit(client, limits, num_new, new_tokens)
  end
  return refused, wanted
end

local function accept(wanted)
  local client, channel = wanted.client, wanted.is_async and NOBODY or own_channel
  local own_fields = wanted.has_record and { 'request', wanted.id } or { 'maker', wanted.tokenizer }
  kept_bytes = kept_bytes + wanted.bytes
  if wanted.new_cost > 0 then shares[client] = share_of(client) + wanted.new_cost end
  for _, job in ipairs(wanted.jobs) do
    if job.reply_to then
      attach(job.id, job.reply_to, channel, wanted.deadline, wanted.streams)
    else
      local share = wanted.is_limited and client .. ' ' .. math.max(least_cost, job.tokens) or ''
      -- A Redis without memory refuses a script at its first write, if that needs some, and this is it: nothing half done.
      redis.call('HSET', job_key(job.id),
        'data', job.data, 'created_at', iso_now(), 'enqueued_at', iso_now(), 'description', job.description,
        'origin', wanted.is_async and 'correct-async' or 'correct', 'status', 'queued', 'timeout', timeout, 'result_ttl', wanted.result_ttl, 'failure_ttl', failure_ttl,
        'reserved_tokens', job.tokens, 'reply_to', channel, 'accepted_at', string.format('%.6f', now + num_accepted / 1000000),
        'deadline', wanted.deadline, 'streams', wanted.streams, 'share', share, unpack(own_fields))
      if wanted.may_be_known then -- what is left of one that was cancelled
        redis.call('PERSIST', job_key(job.id))
        redis.call('HDEL', job_key(job.id), 'expired')
        unkeep(job.id, 'canceled')
      end
      num_accepted = num_accepted + 1
      hold(share, 1)
      reserve(job.id, job.tokens)
      table.insert(wanted.is_async and pushed_async or pushed, job.id)
    end
  end
  num_open, num_tokens = num_open + wanted.num_new, num_tokens + wanted.new_tokens
  if wanted.used_until then redis.call('SET', 'miniserve:limit:' .. client, wanted.used_until, 'EX', wanted.used_for_s) end
  if wanted.has_record then
    keep_record(wanted, wanted.num_running + wanted.num_new)
  else
    redis.call('SET', text_key(wanted.id), wanted.document, 'EX', wanted.record_ttl)
    keep(now + wanted.record_ttl, wanted.bytes)
  end
  return { wanted.num_known > 0 and 'attached' or 'accepted' }
end

local replies, first = {}, 7
while first <= #ARGV do
  local stop = first + REQUEST_WORDS + tonumber(ARGV[first]) * JOB_WORDS - 1
  local is_sound, reply, wanted = pcall(plan, first, stop)
  if not is_sound then reply = { 'fault', type(reply) == 'table' and reply.err or tostring(reply) } end
  replies[#replies + 1] = reply or accept(wanted)
  first = stop + 1
end
if #pushed > 0 then in_slices('RPUSH', QUEUE, pushed) end
if #pushed_async > 0 then in_slices('RPUSH', ASYNC, pushed_async) end
close()
return replies
