-- The rules for jobs that are not plain.
local RATES, TOTALS, HISTORY = 'miniserve:rates', 'miniserve:totals', 'miniserve:history'
local SUSPENDED = 'rq:suspended' -- by `rq suspend`: workers finish the jobs that they run, and take no others
local NOBODY = '-' -- in place of a channel: the answer of an asynchronous job, which no client waits for
local APIS, API_TTL_S = 'miniserve:apis', 2 -- a replica that reports no longer counts as gone

local function job_key(id) return 'rq:job:' .. id end
local function claim_key(worker) return 'miniserve:claim:' .. worker end
local function registry_of(status) return 'rq:' .. status .. ':correct' end
local function request_key(id) return 'miniserve:request:' .. id end
local function inbox_key(worker) return 'miniserve:inbox:' .. worker end

local function ttl_of(text) return math.floor(number(text, 1, 1e8) or 60) end

-- Fields of a hash; nil for one that is missing or empty.
local function fields_of(key, ...)
  local hash, names, values = {}, { ... }, redis.pcall('HMGET', key, ...)
  if values.err then return hash end
  for at, value in ipairs(values) do
    if value and value ~= '' then hash[names[at]] = value end
  end
  return hash
end

-- Fields of a job; none for an id that no job may have. The ticket holds those that did not change since ENQUEUE.
local TICKET = { 'reply_to', 'accepted_at', 'result_ttl', 'reserved_tokens', 'deadline' }
local function read(id, ...)
  local job, words = {}, {}
  local values = #id <= 128 and string.find(id, '^[%w_-]+$') and redis.pcall('HMGET', job_key(id), 'ticket', ...) or {}
  for word in string.gmatch(values[1] or '', '%S+') do words[#words + 1] = word end
  for at, name in ipairs(TICKET) do job[name] = words[at] end
  for at, name in ipairs({ ... }) do
    local value = values[at + 1]
    if value then job[name] = value ~= '' and value or nil end
  end
  return job
end

-- Tokens and client of a reservation.
local function reservation_of(text)
  local tokens, client = string.match(text, '^(%S+) ?(.*)$')
  return number(tokens) or 0, client or ''
end

-- Whether a tool of RQ's has failed or stopped a job that has no answer. Such a job still waits: one that our scripts end
-- has no reservation.
local UNDONE = { failed = true, stopped = true }
local function is_undone(id, status) return UNDONE[status or ''] and call('HEXISTS', RESERVATIONS, id) == 1 end

-- Whether a tool of RQ's has enqueued a job that is answered. Such a job has no text any more.
local function is_answered(id) return call('ZSCORE', registry_of('finished'), id) end

local function num_queued() return call('LLEN', QUEUE) + call('LLEN', ASYNC) + call('LLEN', DECODE) end

local function owner_of(member)
  local id, worker = string.match(member, '^([^:]*):(.*)$')
  return id or member, worker or ''
end

local function is_leased(worker)
  local until_s = call('ZSCORE', LEASES, worker)
  return until_s and tonumber(until_s) > now
end

-- A field of a row of a stream; nil without a row.
local function field_of(row, name)
  for at = 1, row and #row[2] or 0, 2 do
    if row[2][at] == name then return row[2][at + 1] end
  end
end

-- The rows of a job's results, the newest first; none if they are no stream.
local function results_of(id, most)
  local rows = redis.pcall('XREVRANGE', 'rq:results:' .. id, '+', '-', 'COUNT', most)
  return rows.err and {} or rows
end

-- What became of a job: { 'gone' | 'queued' | 'started' | 'expired' | 'canceled' | 'done', base64 payload }.
local function state_of(id)
  local job = read(id, 'status', 'expired', 'cancel_requested', 'worker_name')
  local status = job.status or 'gone'
  if status == 'canceled' then return { job.expired and 'expired' or 'canceled', '' } end
  -- Its worker has stopped; the next one to take it ends it.
  if job.cancel_requested and status == 'started' and not is_leased(job.worker_name or '') then
    return { job.cancel_requested == 'expired' and 'expired' or 'canceled', '' }
  end
  if is_undone(id, status) then return { 'queued', '' } end
  if status ~= 'finished' and status ~= 'failed' then return { status, '' } end
  for _, row in ipairs(results_of(id, 10)) do -- a worker of RQ's that failed it afterwards added a row without an answer
    local answer = field_of(row, 'return_value')
    if answer then return { 'done', answer } end
  end
  return { 'gone', '' }
end

local function count(what, by) counted[what] = (counted[what] or 0) + (by or 1) end

-- Reserves a job that waits without a reservation: an operator has put it back, and it runs without a deadline. RQ leaves it
-- the expiry of its failure.
local function accept_again(id, tokens)
  reserved[#reserved + 1] = id
  reserved[#reserved + 1] = tokens .. ' '
  count('reserved_tokens', tokens)
  count('reserved_requests')
  count('law_us', -law_us)
  count('accepted')
  call('HSET', job_key(id), 'accepted_at', string.format('%.6f', now), 'deadline', '', 'cancel_requested', '')
  call('PERSIST', job_key(id))
end

-- Undoes what a tool of RQ's did to a job that has no answer yet.
local function put_back(id)
  call('HSET', job_key(id), 'status', 'queued', 'origin', 'correct', 'worker_name', '', 'ended_at', '')
  call('PERSIST', job_key(id))
  call('ZREM', registry_of('failed'), id)
  call('ZREM', registry_of('failed') .. '-async', id)
  call('DEL', 'rq:results:' .. id)
end

-- Releases the reservation of a job, once however often it is called. `outcome`: how the job ended; nil if it was deleted by
-- hand. Returns whether there was a reservation.
local function release(id, outcome, accepted_at)
  local reservation = call('HGET', RESERVATIONS, id)
  if not reservation or released[id] then return false end
  local tokens = reservation_of(reservation)
  released[id] = true
  released[#released + 1] = id
  count('reserved_tokens', -tokens)
  count('reserved_requests', -1)
  count('law_us', law_us)
  count(outcome or 'removed')
  local since = number(accepted_at or read(id, 'accepted_at').accepted_at, 0)
  if since then count('stay_us', math.max(0, math.floor((now - since) * 1000000))) end
  return true
end

-- Publishes a line: the base64 payload of an answer, or '-<id>' for a job that ended without one. All lines for an API process
-- go out as one message.
local function queue_publish(reply_to, line)
  for channel in string.gmatch(reply_to or '', '%S+') do
    if channel ~= NOBODY then
      local lines = outgoing[channel] or {}
      outgoing[channel], lines[#lines + 1] = lines, line
    end
  end
end

-- Updates the record of the HTTP request of a job that ends, and the accounts. `job`: its ttl, outcome, accepted_at and request.
-- Returns what `release` does.
local function conclude(id, status, job)
  local record = request_key(job.request or '')
  if job.request and call('EXISTS', record) == 1 then
    local open = redis.pcall('HINCRBY', record, 'open', -1)
    if status == 'failed' then -- it lives as long as the dead letter, whose answer can be fetched after a requeue
      call('HSET', record, 'kept_until', math.ceil(now + job.ttl))
      call('EXPIRE', record, job.ttl)
    elseif type(open) == 'number' and open <= 0 and call('HEXISTS', record, 'kept_until') == 0 then
      call('EXPIRE', record, job.ttl)
    end
  end
  return release(id, job.outcome, job.accepted_at)
end

-- Ends a job without an answer: it is failed or canceled. An operator may put it back: then it runs, and is nobody's. `job`: as
-- for `conclude`, and further fields and values.
local function settle(id, status, job)
  call('HSET', job_key(id), 'status', status, 'ended_at', iso_now(), 'attempts', 0, 'group', '', 'worker_name', '',
    'cancel_requested', '', 'deadline', '', 'accepted_at', '', 'origin', 'correct', 'special', 1, unpack(job.fields or {}))
  call('EXPIRE', job_key(id), job.ttl)
  local entries = ended[status] or {}
  ended[status] = entries
  entries[#entries + 1] = math.ceil(now + job.ttl)
  entries[#entries + 1] = id
  return conclude(id, status, job)
end

-- Cancels a job. `why`: 'cancelled' (by its clients) or 'expired'; `place`: where it was then, 'waiting' or 'running'.
local function cancel_job(id, why, place)
  local job, is_expired = read(id, 'result_ttl', 'accepted_at', 'request', 'reply_to', 'own_deadline'), why == 'expired'
  job.ttl, job.outcome, job.fields = ttl_of(job.result_ttl), is_expired and 'expired' or 'cancelled', is_expired and { 'expired', 1 }
  if settle(id, 'canceled', job) and is_expired then
    count('expired_' .. place)
    if job.own_deadline then count('expired_own') end -- its client chose a time below the server's
  end
  queue_publish(job.reply_to, '-' .. id)
end

-- A job that may be run. `group`: of suspects, which run with one another only. It is late if less than `needed_s` is left
-- until its deadline, or if the deadline cannot be read.
local function job_to_run(id, needed_s)
  local job = read(id, 'status', 'cancel_requested', 'worker_name', 'deadline', 'reserved_tokens', 'accepted_at', 'attempts', 'group',
    'data', 'streams', 'reply_to', 'special', 'ticket')
  job.ticket = not job.special and job.ticket or ''
  job.is_late, job.tokens = job.deadline and (number(job.deadline) or 0) < now + needed_s, number(job.reserved_tokens, 1, MOST_TOKENS) or 1
  job.deadline, job.accepted_at, job.num_deaths = number(job.deadline), number(job.accepted_at), number(job.attempts, 0, 99) or 0
  job.group, job.data = job.group or job.num_deaths > 0 and id or nil, job.data or ''
  return job
end

-- { id, attempt, us waited, data, streams, us until the deadline or -1, 1 for a suspect, 1 for an asynchronous job, ticket }.
-- The worker gives the ticket back to FINISH; it is '' for a job that another client may attach to.
local function delivery(id, job)
  local waited_s, left_s = now - (job.accepted_at or now), (job.deadline or now) - now
  return { id, job.num_deaths + 1, math.max(0, math.min(math.floor(waited_s * 1000000), 1e15)),
    string.sub(job.data, 1, MAX_DATA_BYTES + 1), job.streams or '',
    job.deadline and math.max(0, math.min(math.floor(left_s * 1000000), 1e15)) or -1,
    job.group and 1 or 0, job.reply_to == NOBODY and 1 or 0, job.ticket }
end
