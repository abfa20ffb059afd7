-- ENQUEUE of requests that must be looked up, are limited, or may find no room.
-- Asynchronous requests leave an eighth of the bound to those that a client waits for.
local ASYNC_SHARE = 0.875

-- What each client holds, by its number. It is read once, and only when the queue is half full.
local held
local function hold(text)
  local tokens, client = reservation_of(text)
  held[client] = held[client] or { requests = 0, tokens = 0 }
  held[client].requests, held[client].tokens = held[client].requests + 1, held[client].tokens + tokens
end

local function held_by(client)
  if not held then
    held = {}
    for _, text in ipairs(call('HVALS', RESERVATIONS)) do hold(text) end
    for at = 2, #reserved, 2 do hold(reserved[at]) end -- by this script, and not written yet
  end
  return held[client] or { requests = 0, tokens = 0 }
end

-- While others hold a part of the queue, a client may hold half of either bound. Its first request is taken whatever its size.
local function is_over_share(client, num_new, new_tokens)
  local is_half_full = num_open + num_new > max_requests / 2 or num_tokens + new_tokens > max_tokens / 2
  if client == '' or not is_half_full then return false end
  local own = held_by(client)
  return own.requests > 0 and own.requests < num_open
    and (own.requests + num_new > max_requests / 2 or own.tokens + new_tokens > max_tokens / 2)
end

-- The refusal of its new jobs; nil: they fit.
local function refusal(wanted)
  local num_new, new_tokens, client, is_async, within_s = wanted.num_new, wanted.new_tokens, wanted.client, wanted.is_async, wanted.within_s
  local most_memory, part = max_memory * (wanted.record and KEPT_SHARE or MEMORY_SHARE), is_async and ASYNC_SHARE or 1
  if is_over_share(client, num_new, new_tokens) then
    return { 'share', held_by(client).requests, held_by(client).tokens, tostring(rate) }
  elseif num_open + num_new > max_requests * part or num_tokens + new_tokens > max_tokens * part then
    return { 'full', num_open, num_tokens, tostring(rate) }
  elseif sums.used_memory > most_memory then
    return { 'memory', sums.used_memory, most_memory }
  -- Without a known rate every request is accepted. An empty queue accepts one too, or a rate once measured too low would
  -- never be corrected.
  elseif within_s and rate > 0 and num_tokens > 0 and (num_tokens + new_tokens) / rate > within_s then
    -- Asynchronous jobs delay no other. Their part of the tokens is taken to be their part of the jobs.
    local behind = is_async and 0 or math.min(1, call('LLEN', ASYNC) / num_open)
    local tokens = num_tokens * (1 - behind) + new_tokens
    if tokens / rate > within_s then return { 'late', tokens, tostring(rate) } end
  end
end

-- The limits of a client, by GCRA: its use of each limit lasts until a time, which may be up to a second from now, or the time
-- of one request. Returns the refusal { 'limit', 'requests' | 'tokens', limit, ms until there is room }; or nil, those times with
-- this request, and the seconds until they are over.
local function over_limit(client, limits, tokens)
  local longest_s, untils = 0, {}
  local used = redis.pcall('GET', 'miniserve:limit:' .. client)
  local used_until = type(used) == 'string' and { string.match(used, '^(%S+) (%S+)$') } or {}
  for at, per_s in ipairs({ string.match(limits, '^(%S+) (%S+)$') }) do
    per_s = tonumber(per_s)
    local from, cost = math.max(now, number(used_until[at], 0, now + 1e8) or 0), at == 1 and 1 or tokens
    local slack_s = at == 1 and per_s > 0 and math.max(0, 1 - 1 / per_s) or 1
    if per_s > 0 and from - now > slack_s + 1e-5 then
      return { 'limit', at == 1 and 'requests' or 'tokens', tostring(per_s), math.ceil((from - now - slack_s) * 1000) }
    end
    untils[at] = per_s > 0 and from + cost / per_s or 0
    longest_s = math.max(longest_s, untils[at] - now)
  end
  return nil, string.format('%.6f %.6f', untils[1], untils[2]), math.ceil(longest_s) + 1
end

-- Reads and checks a whole request and writes nothing, so that its faults do not touch the others of the packet. Returns the
-- reply, or nil and what `accept` takes.
local function plan(text)
  local wanted = decode(text)
  local record, client = wanted.record, wanted.client
  if record and record.key then
    local known = redis.pcall('GET', 'miniserve:key:' .. record.key)
    local found = type(known) == 'string' and fields_of(request_key(known), 'digest', 'maker') or {}
    if found.digest and found.digest ~= record.digest then return { 'conflict' } end
    if found.digest and found.maker == record.maker and known ~= record.id then return { 'known', known } end
  end
  local num_known, num_running, num_new, new_tokens = 0, 0, 0, 0
  for _, job in ipairs(wanted.jobs) do
    local known = wanted.may_be_known and read(job.id, 'status', 'reply_to') or {}
    if known.status and (known.status ~= 'canceled' or call('HEXISTS', RESERVATIONS, job.id) == 1) then -- a job that our scripts cancelled begins again
      job.reply_to, num_known = known.reply_to or '', num_known + 1
      if known.status == 'queued' or known.status == 'started' then num_running = num_running + 1 end
    else
      num_new, new_tokens = num_new + 1, new_tokens + job.tokens
    end
  end
  if record then assert(record.ttl >= 1) end
  wanted.num_known, wanted.num_running, wanted.num_new, wanted.new_tokens = num_known, num_running, num_new, new_tokens
  if num_new == 0 then return nil, wanted end
  local refused = refusal(wanted)
  if not refused and wanted.limits then
    refused, wanted.used_until, wanted.used_for_s = over_limit(client, wanted.limits, new_tokens)
  end
  if refused and not wanted.is_further then
    local why = refused[1]
    count(why == 'memory' and 'refused_full' or why == 'limit' and 'refused_share' or 'refused_' .. why)
    count('refused_sentences', num_new)
  end
  return refused, wanted
end

attach = function(wanted, job, channel)
  local known, reply_to, deadline, fields = read(job.id, 'deadline', 'worker_name'), job.reply_to, wanted.deadline, {}
  local function set(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
  -- The new client waits longer, or without a deadline.
  if known.deadline and (deadline == '' or tonumber(deadline) > (number(known.deadline) or 0)) then
    set('deadline', deadline)
    set('own_deadline', wanted.is_own_deadline and 1 or '')
  end
  if wanted.streams then set('streams', 1) end -- from its next start
  if reply_to == '' then -- the last client has just left, and the worker may not know it yet
    set('cancel_requested', '')
    if known.worker_name then call('HDEL', inbox_key(known.worker_name), job.id) end
  end
  if not string.find(' ' .. reply_to .. ' ', ' ' .. channel .. ' ', 1, true) then
    set('reply_to', reply_to == '' and channel or reply_to .. ' ' .. channel)
  end
  if #fields > 0 then call('HSET', job_key(job.id), 'special', 1, unpack(fields)) end
end

local function keep_record(wanted, num_running)
  local record, ids = wanted.record, {}
  for at, job in ipairs(wanted.jobs) do ids[at] = job.id end
  local key, ttl = request_key(record.id), record.ttl
  local num_added = call('HSET', key, 'jobs', table.concat(ids, ' '), 'open', num_running, 'document',
    record.document, 'digest', record.digest, 'maker', record.maker)
  -- The tokens of its answers count once: for the client that waits now, or else for the first that asks later.
  if num_added == 5 and not wanted.is_async then call('HSET', key, 'paid', 1) end
  local left = num_added == 5 and -1 or call('TTL', key)
  if left < 0 or num_running > 0 and left < ttl then
    call('EXPIRE', key, ttl)
  else
    ttl = math.max(1, left) -- TTL is 0 in the last half second, which SET refuses
  end
  if record.key then call('SET', 'miniserve:key:' .. record.key, record.id, 'EX', ttl) end
end

forget = function(id) -- an earlier job with this id
  release(id)
  call('PERSIST', job_key(id))
  call('HDEL', job_key(id), 'expired', 'cancel_requested', 'attempts', 'group', unpack(TICKET))
  for _, ended_as in ipairs({ 'canceled', 'failed', 'finished' }) do call('ZREM', registry_of(ended_as), id) end
end

for at = at, #ARGV do
  local is_sound, reply, wanted = pcall(plan, ARGV[at])
  if not is_sound then
    reply = { 'fault', type(reply) == 'table' and reply.err or tostring(reply) }
  elseif not reply then
    local num_before = #reserved
    local is_written, fault = pcall(accept, wanted)
    if not is_written then
      if num_before > 0 or not string.find(fault.err or fault, 'OOM', 1, true) then error(fault, 0) end
      -- Redis has no memory: its limit was lowered since it was last read.
      local facts = redis.pcall('INFO', 'memory')
      facts = type(facts) == 'string' and facts or ''
      local used, most = string.match(facts, 'used_memory:(%d+)'), string.match(facts, 'maxmemory:(%d+)')
      for _ = at, #ARGV do replies[#replies + 1] = { 'memory', tonumber(used or 0), tonumber(most or 0) } end
      return replies
    end
    if held then
      for place = num_before + 2, #reserved, 2 do hold(reserved[place]) end
    end
    if wanted.used_until then call('SET', 'miniserve:limit:' .. wanted.client, wanted.used_until, 'EX', wanted.used_for_s) end
    if wanted.record then keep_record(wanted, wanted.num_running + wanted.num_new) end
    reply = { wanted.num_known > 0 and 'attached' or 'accepted' }
  end
  replies[#replies + 1] = reply
end
