-- FINISH: store and publish answers, each only if this worker still runs the request. First answer wins.
-- ARGV: worker, then per answer: id, final status ('length': finished, and cut), base64 payload, base64 error text or ''.
-- Returns the number of duplicates dropped.
local worker, FIRST, STEP = ARGV[1], 2, 4
local ids, members = {}, {}
for at = FIRST, #ARGV, STEP do
  ids[#ids + 1] = ARGV[at]
  members[#members + 1] = ARGV[at] .. ':' .. worker
end
local reserved_for = redis.call('HMGET', RESERVATIONS, unpack(ids))
-- The first write is one that a Redis without memory takes: then it takes the others.
in_slices('ZREM', WIP, members)

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

local duplicates = 0
for at = FIRST, #ARGV, STEP do
  local id, status, payload, error_text = unpack(ARGV, at, at + 3)
  local was, owner, reply_to, result_ttl, failure_ttl, cancel_requested, deadline, accepted_at, request = values_of(id,
    'status', 'worker_name', 'reply_to', 'result_ttl', 'failure_ttl', 'cancel_requested', 'deadline', 'accepted_at', 'request')
  local reservation, is_own = reserved_for[(at - FIRST) / STEP + 1], was == 'started' and owner == worker
  -- A tool of RQ's, or a worker without a lease, has marked the job as its own, and there is no answer yet.
  if reservation and not is_own and (UNDONE[was] or was == 'started' and not is_leased(owner or '')) then
    put_back(id)
    is_own = true
  end
  if is_own then
    -- The worker counts by its own clock.
    local why = status == 'expired' and is_before(deadline, clock() + 0.01) and 'expired' or cancel_requested or ''
    if status ~= 'canceled' and status ~= 'expired' then
      local is_cut = status == 'length'
      if is_cut then status = 'finished' end
      local ttl = ttl_of(status == 'failed' and failure_ttl or result_ttl)
      store(id, status, payload, error_text, ttl)
      if is_cut and reservation then count('done_length') end
      local fields = {}
      if status == 'finished' then -- nobody runs it again: of `data` stays what RQ's tools show
        fields = { 'data', '["miniserve.correct",null,[{"request_id":"' .. id .. '"}],{}]' }
      end
      settle(id, status, { ttl = ttl, outcome = status == 'finished' and 'done' or 'failed', accepted_at = accepted_at,
        request = request ~= '' and request, reservation = reservation, fields = fields })
      queue_publish(reply_to, payload)
    elseif why ~= '' then
      cancel_job(id, why, 'running')
    else
      redis.call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
      push_front({ id }) -- another client came after the cancellation, or waits for longer
    end
  elseif not was then
    release(id) -- deleted by hand while it ran
  elseif status ~= 'canceled' and status ~= 'expired' and not is_repeated(id, payload) then
    duplicates = duplicates + 1
  end
end
if duplicates > 0 then count('duplicates', duplicates) end
close()
return duplicates
