-- FINISH: store and publish answers, each only if this worker still runs the request. First answer wins.
-- ARGV: worker, then per answer: id, final status ('length': finished, and cut), base64 payload, base64 error text or '',
-- ticket of its delivery. Returns the number of duplicates dropped.
local worker, FIRST, STEP = ARGV[1], 2, 5
local ids, members = {}, {}
for at = FIRST, #ARGV, STEP do
  ids[#ids + 1] = ARGV[at]
  members[#members + 1] = ARGV[at] .. ':' .. worker
end
local reserved_for = redis.call('HMGET', RESERVATIONS, unpack(ids))
-- The first write is one that a Redis without memory takes: then it takes the others. Where it removes as many as were sent, all
-- of them are this worker's still, and no job that is open has to be read for that.
local are_own = in_slices('ZREM', WIP, members) == #members

local function store(id, status, payload, error_text, ttl)
  local fields = { 'type', status == 'finished' and 1 or 2, 'worker_name', worker, 'return_value', payload }
  if error_text ~= '' then
    fields[#fields + 1] = 'exc_string'
    fields[#fields + 1] = error_text
  end
  redis.call('XADD', 'rq:results:' .. id, '*', unpack(fields))
  redis.call('EXPIRE', 'rq:results:' .. id, ttl)
end

-- Whether this very answer is stored: it comes again, because the reply to the FINISH that stored it was lost.
local function is_repeated(id, payload)
  local last = results_of(id, 1)[1]
  return field_of(last, 'worker_name') == worker and field_of(last, 'return_value') == payload
end

-- `job`: reply_to, and what `settle` takes. A job that was deleted by hand while it ran stays deleted.
local function answer(id, status, payload, error_text, job)
  local is_cut = status == 'length'
  if is_cut then status = 'finished' end
  job.outcome = status == 'finished' and 'done' or 'failed'
  if status == 'finished' then -- nobody runs it again: of `data` stays what RQ's tools show
    job.fields = { 'data', '["' .. FUNCTION_NAME .. '",null,[{"request_id":"' .. id .. '"}],{}]' }
  end
  if not settle(id, status, job) then return end
  store(id, status, payload, error_text, job.ttl)
  if is_cut and job.reservation then count('done_length') end
  queue_publish(job.reply_to, payload)
end

local duplicates = 0
local function finish(id, status, payload, error_text, reservation)
  local was, owner, reply_to, result_ttl, failure_ttl, cancel_requested, deadline, accepted_at, request = values_of(id,
    'status', 'worker_name', 'reply_to', 'result_ttl', 'failure_ttl', 'cancel_requested', 'deadline', 'accepted_at', 'request')
  local is_own = was == 'started' and owner == worker
  -- A tool of RQ's, or a worker without a lease, has marked the job as its own, and there is no answer yet.
  if reservation and not is_own and (UNDONE[was] or was == 'started' and not is_leased(owner or '')) then
    put_back(id)
    is_own = true
  end
  local has_answer = status ~= 'canceled' and status ~= 'expired'
  -- The worker counts by its own clock.
  local why = status == 'expired' and is_before(deadline, clock() + 0.01) and 'expired' or cancel_requested or ''
  if not was then
    release(id) -- deleted by hand while it ran
  elseif not is_own then
    if has_answer and not is_repeated(id, payload) then duplicates = duplicates + 1 end
  elseif has_answer then
    answer(id, status, payload, error_text, { reply_to = reply_to, ttl = ttl_of(status == 'failed' and failure_ttl or result_ttl),
      accepted_at = accepted_at, request = request ~= '' and request, reservation = reservation })
  elseif why ~= '' then
    cancel_job(id, why, 'running')
  else
    redis.call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
    push_front({ id }) -- another client came after the cancellation, or waits for longer
  end
end

for at = FIRST, #ARGV, STEP do
  local id, status, payload, error_text, ticket = unpack(ARGV, at, at + STEP - 1)
  local reservation = reserved_for[(at - FIRST) / STEP + 1]
  local reply_to, accepted_at, ttl = string.match(ticket, '^(%S+) (%S+) (%S+)$')
  if are_own and reservation and reply_to and (status == 'finished' or status == 'length') then
    answer(id, status, payload, '', { reply_to = reply_to, ttl = ttl_of(ttl), accepted_at = accepted_at, reservation = reservation })
  else
    finish(id, status, payload, error_text, reservation)
  end
end
if duplicates > 0 then count('duplicates', duplicates) end
close()
return duplicates
