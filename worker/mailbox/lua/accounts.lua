-- The accounts, and the last moves of an id. A script notes what it reserves, releases, counts, ends and publishes, and `close` writes all of it, each
-- kind with one command for any number of jobs. Every script that notes something must end in `close`.
local reserved, released, counted, ended, outgoing = {}, {}, {}, {}, {}

local function count(what, by) counted[what] = (counted[what] or 0) + (by or 1) end

-- The caller knows that the id has no reservation.
local function reserve(id, tokens, client)
  reserved[#reserved + 1] = id
  reserved[#reserved + 1] = tokens .. ' ' .. (client or '')
  count('reserved_tokens', tokens)
  count('reserved_requests')
  count('law_us', -law_us())
  count('accepted')
end

-- A job that waits and has no reservation: an operator has put it back, and wants it to run, now and at any time. RQ leaves it
-- the expiry of its failure.
local function accept_again(id, tokens)
  reserve(id, tokens)
  redis.call('HSET', job_key(id), 'accepted_at', string.format('%.6f', clock()), 'deadline', '', 'cancel_requested', '')
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
-- its job was deleted by hand. `reservation`: false for none, nil where the caller has not read it.
local function release(id, outcome, accepted_at, reservation)
  if reservation == nil then reservation = redis.call('HGET', RESERVATIONS, id) end
  if not reservation or released[id] then return end
  local tokens = reservation_of(reservation)
  released[id] = true
  released[#released + 1] = id
  count('reserved_tokens', -tokens)
  count('reserved_requests', -1)
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

local function close()
  if #released > 0 then in_slices('HDEL', RESERVATIONS, released) end -- first: what is accepted anew has another
  if #reserved > 0 then in_slices('HSET', RESERVATIONS, reserved) end
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
  for channel, lines in pairs(outgoing) do redis.call('PUBLISH', channel, table.concat(lines, '\n')) end
end

-- The last move of an id: into finished, failed or canceled. `job`: its ttl, outcome for the counts, accepted_at, request,
-- reservation as in `release`, and further fields and values. Returns false, and only releases it, where it was deleted by hand.
local function settle(id, status, job)
  if status == 'finished' then -- without accepted_at a job has no reservation
    local num_added = redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso_now(), 'accepted_at', '', unpack(job.fields or {}))
    if num_added > 1 then -- a job that was started has all of them
      redis.call('DEL', job_key(id))
      release(id, nil, job.accepted_at, job.reservation)
      return false
    end
  else -- an operator may put it back, and then wants it to run, and no client holds it
    redis.call('HSET', job_key(id), 'status', status, 'ended_at', iso_now(), 'attempts', 0, 'group', '', 'worker_name', '',
      'cancel_requested', '', 'deadline', '', 'accepted_at', '', 'origin', 'correct', unpack(job.fields or {}))
  end
  redis.call('EXPIRE', job_key(id), job.ttl)
  local until_s = math.ceil(clock() + job.ttl) -- a whole number is written and read ten times as fast
  local entries = ended[status] or {}
  ended[status] = entries
  entries[#entries + 1] = until_s
  entries[#entries + 1] = id
  local record = request_key(job.request or '')
  if job.request and redis.call('EXISTS', record) == 1 then
    local open = redis.pcall('HINCRBY', record, 'open', -1)
    if status == 'failed' then -- it lives as long as the letter: who puts that back wants its answer to be found
      redis.call('HSET', record, 'kept_until', until_s)
      redis.call('EXPIRE', record, job.ttl)
    elseif type(open) == 'number' and open <= 0 and redis.call('HEXISTS', record, 'kept_until') == 0 then
      redis.call('EXPIRE', record, job.ttl)
    end
  end
  release(id, job.outcome, job.accepted_at, job.reservation)
  return true
end

-- Into canceled: `why` is 'cancelled' (its clients left, or said so) or 'expired', and then `place` says where it was.
local function cancel_job(id, why, place)
  local job = read(id, 'result_ttl', 'accepted_at', 'request', 'reply_to')
  local reservation = redis.call('HGET', RESERVATIONS, id)
  local is_expired = why == 'expired'
  if is_expired and reservation then count('expired_' .. place) end
  settle(id, 'canceled', { ttl = ttl_of(job.result_ttl), outcome = is_expired and 'expired' or 'cancelled',
    accepted_at = job.accepted_at, request = job.request, reservation = reservation, fields = is_expired and { 'expired', 1 } })
  queue_publish(job.reply_to, '-' .. id)
end
