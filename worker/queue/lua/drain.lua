-- DRAIN, where what comes next is not a plain job: nothing passes it, and it goes on from there.
local function start(id, job, is_async)
  call('HSET', job_key(id), 'status', 'started', 'started_at', iso_now(), 'ended_at', '', 'worker_name', worker)
  if is_async then call('HSET', job_key(id), 'origin', 'correct') end -- whose registries it goes through from here on
  started[#started + 1] = run_until_s
  started[#started + 1] = id .. ':' .. worker
  -- What an operator has put back has waited since just now, and has no deadline.
  if not job.accepted_at and call('HEXISTS', RESERVATIONS, id) == 0 then
    accept_again(id, job.tokens)
    job.deadline = nil
  end
  deliveries[#deliveries + 1] = delivery(id, job)
end

-- nil: nothing to run under this id any more.
local function load(id)
  local job = job_to_run(id, needed_s)
  if job.status == 'started' then return nil end -- a second entry of an id that runs
  local is_cancelled = job.status == 'canceled' and call('HEXISTS', RESERVATIONS, id) == 1 -- with RQ's tools
  if is_undone(id, job.status) then
    put_back(id)
  elseif job.status ~= 'queued' and not is_cancelled then
    queue_publish(job.reply_to, '-' .. id)
    release(id)
    return nil
  end
  local why = is_cancelled and 'cancelled' or job.is_late and 'expired' or job.cancel_requested
  if why and call('HEXISTS', RESERVATIONS, id) == 1 then
    cancel_job(id, why, 'waiting')
    return nil
  end
  return job
end

-- What comes next is taken until something must wait: ids behind it, too, for nobody is overtaken.
local group, num_async_taken = nil, 0
local function take(id, is_async)
  if must_wait == 1 or #deliveries >= max_jobs or bytes >= MOST_BYTES then return false end
  local job = load(id)
  if not job then return true end
  if job.group and num_held > 0 or #deliveries > 0 and job.group ~= group then
    must_wait = 1
    return false
  end
  if job.tokens > free_tokens then
    if not is_async then must_wait, deferred = 1, id end
    return false
  end
  group = job.group
  free_tokens, bytes = free_tokens - job.tokens, bytes + math.min(#job.data, MAX_DATA_BYTES)
  start(id, job, is_async)
  if is_async then num_async_taken = num_async_taken + 1 end
  return true
end

local async_ids, async_at = num_async > 0 and call('LRANGE', ASYNC, 0, math.min(math.ceil(num_async / workers), most) - 1) or {}, 0
local function take_async(number)
  while num_async_taken < number and async_ids[async_at + 1] and take(async_ids[async_at + 1], true) do async_at = async_at + 1 end
end

-- A suspect, and what waits for room, lets nothing pass.
local function must_be_first(id)
  local job = job_to_run(id, needed_s)
  return job.group or job.tokens > free_tokens
end

local head = num_async > 0 and (claimed[1] or depth > 0 and call('LINDEX', QUEUE, 0))
if not (head and must_be_first(head)) then take_async(tonumber(more_async)) end

while num_claimed < #claimed and take(claimed[num_claimed + 1]) do num_claimed = num_claimed + 1 end
push_front(claimed, num_claimed + 1)

local MOST_SUSPECTS = 32 -- of a group that comes as one: the root of a thousand
if num_claimed == #claimed and depth > 0 then
  for _, id in ipairs(call('LRANGE', QUEUE, taken, math.max(share, MOST_SUSPECTS) - 1)) do
    if taken >= share and not group then break end -- a group is not shared
    if not take(id) then break end
    taken = taken + 1
  end
  if taken > 0 then call('LTRIM', QUEUE, taken, -1) end
end
local is_alone = num_others == '0' and taken == depth and #deliveries == num_async_taken
if is_alone then take_async(max_jobs) end
if async_at > 0 then call('LTRIM', ASYNC, async_at, -1) end
if #started > 0 then in_slices('ZADD', WIP, started) end
close()
return { 0, cancelled, must_wait, deferred, num_async - async_at, deliveries }
