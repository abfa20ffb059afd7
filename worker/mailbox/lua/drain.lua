-- DRAIN: renew the lease, then hand over what was claimed and this worker's share of the queue, as far as it fits.
-- Suspects, which an earlier worker died with, come in their groups: to a worker that holds nothing, and with nothing else.
-- So many asynchronous requests come first as the worker may take while there are others; the others come behind them; and
-- where there are no others, all that fits.
-- Returns { 1 where the worker must RESYNC, ids to drop, 1 where what comes next must wait for what the worker holds, id of
-- it where it does not fit, number of asynchronous requests that still wait, deliveries }
-- ARGV: worker, lease s, epoch, free tokens, most jobs, number held, number of these that somebody waits for, seconds that a
-- request took lately from its start to its end, number of asynchronous requests that it may take while there are others.
local worker, lease_s, epoch, free_tokens, max_jobs, num_held, num_others, service_s, more_async = unpack(ARGV)
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
-- Beside others it will take as long as they did: who would be late is dropped now. If it were started, an overloaded
-- worker would spend all its tokens on requests whose deadline comes while they run, and answer nobody.
local needed_s = num_held > 0 and tonumber(service_s) or 0
local now = clock()

-- The first write is one that a Redis without memory takes: then it takes the others, and what was accepted can end.
local claimed = redis.call('LPOP', claim_key(worker), 1000) or {}
-- An old DRAIN may arrive long after its connection broke; what it took would be with nobody.
local inbox, cancelled = hash_of(inbox_key(worker)), {}
-- No lease: others may have taken its work in the meantime.
if inbox.epoch ~= epoch or redis.call('ZADD', LEASES, 'XX', 'CH', now + tonumber(lease_s), worker) == 0 then
  push_front(claimed)
  return { 1, {}, 0, '', 0, {} }
end
for id in pairs(inbox) do
  if id ~= 'epoch' then cancelled[#cancelled + 1] = id end
end
in_slices('HDEL', inbox_key(worker), cancelled)

local started, deliveries = {}, {}
local run_until_s = math.ceil(now + WIP_TTL_S)

local function start(id, job, is_async)
  redis.call('HSET', job_key(id), 'status', 'started', 'started_at', iso_now(), 'ended_at', '', 'worker_name', worker)
  if is_async then redis.call('HSET', job_key(id), 'origin', 'correct') end -- whose registries it goes through from here on
  started[#started + 1] = run_until_s
  started[#started + 1] = id .. ':' .. worker
  -- What an operator has put back has waited since just now, and has no deadline.
  if not job.accepted_at and redis.call('HEXISTS', RESERVATIONS, id) == 0 then
    accept_again(id, job.tokens)
    job.deadline = nil
  end
  deliveries[#deliveries + 1] = delivery(id, job)
end

-- nil: nothing to run under this id any more.
local function load(id)
  local job = job_to_run(id, needed_s)
  if job.status == 'started' then return nil end -- a second entry of an id that runs
  local is_cancelled = job.status == 'canceled' and redis.call('HEXISTS', RESERVATIONS, id) == 1 -- with RQ's tools
  if is_undone(id, job.status) then
    put_back(id)
  elseif job.status ~= 'queued' and not is_cancelled then
    queue_publish(job.reply_to, '-' .. id)
    release(id)
    return nil
  end
  local why = is_cancelled and 'cancelled' or job.is_late and 'expired' or job.cancel_requested
  if why and redis.call('HEXISTS', RESERVATIONS, id) == 1 then
    cancel_job(id, why, 'waiting')
    return nil
  end
  return job
end

-- What comes next is taken until something must wait: ids behind it, too, for nobody is overtaken.
local must_wait, deferred, group, bytes, num_async_taken = 0, '', nil, 0, 0
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

local depth, num_async = 0, 0
if max_jobs > 0 and redis.call('EXISTS', QUEUE, ASYNC) > 0 then
  depth, num_async = redis.call('LLEN', QUEUE), redis.call('LLEN', ASYNC)
end
local workers = depth + num_async > 0 and math.max(1, counts('takers').takers or 0) or 1

-- Not more ids than fit: a worker that is nearly full would read a thousand of them each time.
local LEAST_TOKENS = 16 -- of a request; what reserves less comes with the next DRAIN
local most = math.min(max_jobs, math.ceil(free_tokens / LEAST_TOKENS))

local async_ids, async_at = num_async > 0 and redis.call('LRANGE', ASYNC, 0, math.min(math.ceil(num_async / workers), most) - 1) or {}, 0
local function take_async(number)
  while num_async_taken < number and async_ids[async_at + 1] and take(async_ids[async_at + 1], true) do async_at = async_at + 1 end
end

-- A suspect, and what waits for room, lets nothing pass.
local function must_be_first(id)
  local job = job_to_run(id, needed_s)
  return job.group or job.tokens > free_tokens
end

local head = num_async > 0 and (claimed[1] or depth > 0 and redis.call('LINDEX', QUEUE, 0))
if not (head and must_be_first(head)) then take_async(tonumber(more_async)) end

local num_claimed = 0
while num_claimed < #claimed and take(claimed[num_claimed + 1]) do num_claimed = num_claimed + 1 end
push_front(claimed, num_claimed + 1)

local MOST_SUSPECTS, taken = 32, 0 -- of a group that comes as one: the root of a thousand
if num_claimed == #claimed and depth > 0 then
  local share = math.min(math.ceil(depth / workers), most)
  for _, id in ipairs(redis.call('LRANGE', QUEUE, 0, math.max(share, MOST_SUSPECTS) - 1)) do
    if taken >= share and not group then break end -- a group is not shared
    if not take(id) then break end
    taken = taken + 1
  end
  if taken > 0 then redis.call('LTRIM', QUEUE, taken, -1) end
end
local is_alone = num_others == '0' and taken == depth and #deliveries == num_async_taken
if is_alone then take_async(max_jobs) end
if async_at > 0 then redis.call('LTRIM', ASYNC, async_at, -1) end
if #started > 0 then in_slices('ZADD', WIP, started) end
close()
return { 0, cancelled, must_wait, deferred, num_async - async_at, deliveries }
