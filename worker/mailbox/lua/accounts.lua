-- The accounts, and the last moves of an id. A script notes what it reserves, releases, counts, ends and publishes, and `close` writes all of it, each
-- kind with one command for any number of jobs. Every script that notes something must end in `close`.
local reserved, released, counted, ended, kept, held, outgoing = {}, {}, {}, {}, {}, {}, {}
local must_recount = false -- the shares: a job was deleted by hand, and with it how much of one it held

local function count(what, by) counted[what] = (counted[what] or 0) + (by or 1) end

-- `share`: field of a job, '<client> <cost>'; nil of one that is not counted.
local function hold(share, sign)
  local client, cost = string.match(share or '', '^(%d+) (%d+)$')
  if client then
    held[client] = (held[client] or 0) + sign * cost
    count('shares', sign * cost)
  end
end

-- What is kept for long counts to the end of its hour: or there would be a bucket for each second of a week.
local LONG_S, HOUR_S = 1300, 3600
local function keep(until_s, bytes)
  local second = math.ceil(until_s)
  if second - clock() > LONG_S then second = math.ceil(second / HOUR_S) * HOUR_S end
  kept[second] = (kept[second] or 0) + bytes
  count('kept_bytes', bytes)
end

-- A job that was to be forgotten at the time of its registry, and is now put back or deleted.
local function unkeep(id, status)
  local until_s = redis.call('ZSCORE', registry_of(status), id)
  redis.call('ZREM', registry_of(status), id)
  if until_s and status == 'failed' then
    count('kept_bytes', -dead_bytes(1))
  elseif until_s then
    keep(tonumber(until_s), -bytes_of(1, number(read(id, 'reserved_tokens').reserved_tokens, 1) or 1))
  end
end

-- The caller knows that the id has no reservation.
local function reserve(id, tokens)
  reserved[#reserved + 1] = id
  reserved[#reserved + 1] = tokens
  count('reserved_tokens', tokens)
  count('law_us', -law_us())
  count('accepted')
end

-- A job that waits and has no reservation: an operator has put it back, and wants it to run, now and at any time. RQ leaves it
-- the expiry of its failure.
local function accept_again(id, tokens)
  reserve(id, tokens)
  redis.call('HSET', job_key(id), 'accepted_at', string.format('%.6f', clock()), 'deadline', '', 'cancel_requested', '', 'share', '')
  redis.call('PERSIST', job_key(id))
end

-- Undo what a tool of RQ's did to a job that has no answer yet.
local function put_back(id)
  redis.call('HSET', job_key(id), 'status', 'queued', 'origin', 'correct', 'worker_name', '', 'ended_at', '')
  redis.call('PERSIST', job_key(id))
  redis.call('ZREM', registry_of('failed'), id)
  redis.call('ZREM', registry_of('failed') .. '-async', id)
  redis.call('DEL', 'rq:results:' .. id)
end

-- Exactly once, however often it is called: the hash entry is the reservation. `outcome`: how the request ended; nil where
-- its job was deleted by hand. `tokens`: of the reservation, false for none, nil where the caller has not read it. `share`: nil
-- where it is not known.
local function release(id, outcome, accepted_at, tokens, share)
  if tokens == nil then tokens = redis.call('HGET', RESERVATIONS, id) end
  if not tokens or released[id] then return end
  tokens = number(tokens) or 0
  released[id] = true
  released[#released + 1] = id
  if share == nil then must_recount = true else hold(share, -1) end
  count('reserved_tokens', -tokens)
  count('law_us', law_us())
  count(outcome or 'removed')
  local since = number(accepted_at or read(id, 'accepted_at').accepted_at, 0)
  if since then count('stay_us', math.max(0, math.floor((clock() - since) * 1000000))) end
end

-- All lines for one API process go out as one message: the base64 payload of an answer, or '-<id>' of a job that ended
-- without one.
local function queue_publish(reply_to, line)
  for channel in string.gmatch(reply_to or '', '%S+') do
    if channel ~= NOBODY then
      local lines = outgoing[channel] or {}
      outgoing[channel], lines[#lines + 1] = lines, line
    end
  end
end

local function recount_shares()
  redis.call('DEL', CLIENTS)
  held, counted.shares = {}, -(counts('shares').shares or 0)
  for _, id in ipairs(redis.call('HKEYS', RESERVATIONS)) do hold(read(id, 'share').share, 1) end
end

local function close()
  if #reserved > 0 then in_slices('HSET', RESERVATIONS, reserved) end
  if #released > 0 then in_slices('HDEL', RESERVATIONS, released) end
  if must_recount then recount_shares() end
  local unknown, sums = {}, {}
  for what in pairs(counted) do
    if not known_counts[what] then unknown[#unknown + 1] = what end
  end
  if #unknown > 0 then counts(unpack(unknown)) end
  for what, by in pairs(counted) do
    sums[#sums + 1] = what
    sums[#sums + 1] = string.format('%.0f', (known_counts[what] or 0) + by)
  end
  if #sums > 0 then redis.call('HSET', COUNTS, unpack(sums)) end
  for status, entries in pairs(ended) do in_slices('ZADD', registry_of(status), entries) end
  for second, bytes in pairs(kept) do redis.pcall('HINCRBY', KEPT, second, bytes) end -- summed up every second
  for client, cost in pairs(held) do
    local left = redis.pcall('HINCRBY', CLIENTS, client, cost)
    if type(left) ~= 'number' or left <= 0 then redis.call('HDEL', CLIENTS, client) end
  end
  for channel, lines in pairs(outgoing) do redis.call('PUBLISH', channel, table.concat(lines, '\n')) end
end

-- The text of a dead letter lives as long as the letter, and counts for as long: who puts it back wants its answer to be found.
local function keep_text(holder, key, bytes, until_s)
  local counted_until_s = number(fields_of(holder, 'kept_until').kept_until)
  if counted_until_s then keep(counted_until_s, -bytes) end
  redis.call('HSET', holder, 'kept_until', until_s)
  redis.call('EXPIRE', key, math.floor(until_s - clock()))
  keep(until_s, bytes)
end

-- The last move of an id: into finished, failed or canceled. `job`: its ttl, outcome for the counts, accepted_at, request,
-- share and tokens as in `release`, and further fields and values.
local function settle(id, status, job)
  if status == 'finished' then -- without accepted_at a job has no reservation
    redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso_now(), 'accepted_at', '', unpack(job.fields or {}))
  else -- an operator may put it back, and then wants it to run, and no client holds it
    redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso_now(), 'attempts', 0, 'group', '', 'worker_name', '',
      'cancel_requested', '', 'deadline', '', 'accepted_at', '', 'share', '', 'origin', 'correct', unpack(job.fields or {}))
  end
  redis.call('EXPIRE', job_key(id), job.ttl)
  local until_s = math.ceil(clock() + job.ttl) -- a whole number is written and read ten times as fast
  local entries = ended[status] or {}
  ended[status] = entries
  entries[#entries + 1] = until_s
  entries[#entries + 1] = id
  if status == 'failed' then
    count('kept_bytes', dead_bytes(1))
  else
    keep(until_s, bytes_of(1, number(job.tokens) or 0))
  end
  local record, text, is_dead = request_key(job.request or ''), text_key(id), status == 'failed'
  if job.request and redis.call('EXISTS', record) == 1 then
    local open = redis.pcall('HINCRBY', record, 'open', -1)
    if is_dead then
      keep_text(record, record, RECORD_BYTES + redis.call('HSTRLEN', record, 'document'), until_s)
    elseif type(open) == 'number' and open <= 0 and redis.call('HEXISTS', record, 'kept_until') == 0 then
      redis.call('EXPIRE', record, job.ttl)
    end
  elseif is_dead and redis.call('EXISTS', text) == 1 then
    keep_text(job_key(id), text, TEXT_BYTES + redis.call('STRLEN', text), until_s)
  end
  release(id, job.outcome, job.accepted_at, job.tokens, job.share)
end

-- Into canceled: `why` is 'cancelled' (its clients left, or said so) or 'expired', and then `place` says where it was.
local function cancel_job(id, why, place)
  local job = read(id, 'result_ttl', 'accepted_at', 'request', 'reply_to', 'share')
  local tokens = redis.call('HGET', RESERVATIONS, id)
  local is_expired = why == 'expired'
  if is_expired and tokens then count('expired_' .. place) end
  settle(id, 'canceled', { ttl = ttl_of(job.result_ttl), outcome = is_expired and 'expired' or 'cancelled',
    accepted_at = job.accepted_at, request = job.request, tokens = tokens, share = job.share or '', fields = is_expired and { 'expired', 1 } })
  queue_publish(job.reply_to, '-' .. id)
end
