-- FINISH of jobs that are not plain, have no answer, or may no longer be this worker's.

-- Whether this answer is already stored: the reply to the FINISH that stored it was lost, and it is sent again.
local function is_repeated(id, payload)
  local last = results_of(id, 1)[1]
  return field_of(last, 'worker_name') == worker and field_of(last, 'return_value') == payload
end

-- `job`: reply_to, and what `settle` takes.
local function answer(id, status, payload, error_text, job)
  if status == 'failed' then
    settle(id, status, job)
    call('XADD', 'rq:results:' .. id, '*', 'type', 2, 'worker_name', worker, 'return_value', payload, 'exc_string', error_text)
    call('EXPIRE', 'rq:results:' .. id, job.ttl)
  elseif store(id, payload, job.ttl) then
    if conclude(id, 'finished', job) and status == 'length' then count('done_length') end
  else
    return release(id, nil, job.accepted_at)
  end
  queue_publish(job.reply_to, payload)
end

local function finish(id, status, payload, error_text)
  local job = read(id, 'status', 'worker_name', 'reply_to', 'result_ttl', 'cancel_requested', 'deadline', 'accepted_at', 'request')
  local is_own = job.status == 'started' and job.worker_name == worker
  -- A tool of RQ's, or a worker without a lease, has marked the job as its own, and it has no answer yet.
  local is_taken = UNDONE[job.status or ''] or job.status == 'started' and not is_leased(job.worker_name or '')
  if not is_own and is_taken and call('HEXISTS', RESERVATIONS, id) == 1 then
    put_back(id)
    is_own = true
  end
  local has_answer = status ~= 'canceled' and status ~= 'expired'
  -- The worker's clock may be a little ahead.
  local why = status == 'expired' and job.deadline and (number(job.deadline) or 0) < now + 0.01 and 'expired' or job.cancel_requested
  if not job.status then
    release(id) -- deleted by hand while it ran
  elseif not is_own then
    if has_answer and not is_repeated(id, payload) then duplicates = duplicates + 1 end
  elseif has_answer then
    job.outcome, job.ttl = 'done', ttl_of(job.result_ttl)
    if status == 'failed' then job.outcome, job.ttl = 'failed', FAILURE_TTL_S end
    answer(id, status, payload, error_text, job)
  elseif why then
    cancel_job(id, why, 'running')
  else
    call('HSET', job_key(id), 'status', 'queued', 'worker_name', '')
    push_front({ id }) -- after the cancellation another client attached to it, or it got a later deadline
  end
end

for _, at in ipairs(others) do
  finish(unpack(ARGV, at, at + 3))
end
if duplicates > 0 then count('duplicates', duplicates) end
