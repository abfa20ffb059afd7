-- DRAIN: renew the lease, then hand over what was claimed and this worker's share of the queue, as far as it fits.
-- Suspects, which an earlier worker died with, come in their groups: to a worker that holds nothing, and with nothing else.
-- Asynchronous requests come every eighth while others wait, and else as far as they fit into their part of the cache.
-- Returns { 1 where the worker must RESYNC, ids to drop, 1 where what comes next must wait for what the worker holds, id of
-- it where it does not fit, { turn, number of asynchronous requests that still wait }, { id, attempt, waited us, data, streams,
-- deadline in us, 1 of a suspect, 1 of an asynchronous one }... }
-- ARGV: worker, lease s, epoch, free tokens, most jobs, number held, seconds that a request took lately from its start to
-- its end, turn (requests started since the last asynchronous one), free tokens for asynchronous requests beside others, '1'
-- where no others have come lately.
local worker, lease_s, epoch, free_tokens, max_jobs, num_held, service_s, turn, async_tokens, is_quiet = unpack(ARGV)
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
turn, async_tokens = tonumber(turn), tonumber(async_tokens)
local BEFORE_ASYNC = 7
-- Beside others it will take as long as they did: who would be late is dropped now. If it were started, an overloaded
-- worker would spend all its tokens on requests whose deadline comes while they run, and answer nobody.
local needed_s = num_held > 0 and tonumber(service_s) or 0
local now = clock()

-- The first write is one that a Redis without memory takes: then it takes the others, and what was accepted can end.
local claimed = redis.call('LPOP', claim_key(worker), 1000) or {}
-- An old DRAIN may arrive long after its connection broke; what it took would be with nobody.
local inbox, cancelled = hash_of(inbox_key(worker)), {}
if inbox.epoch ~= epoch then
  push_front(claimed)
  return { 1, {}, 0, '', { 0, 0 }, {} }
end
for id in pairs(inbox) do
  if id ~= 'epoch' then cancelled[#cancelled + 1] = id end
end
-- No lease: others may have taken its work in the meantime.
if redis.call('ZADD', LEASES, 'XX', 'CH', now + tonumber(lease_s), worker) == 0 then
  push_front(claimed)
  return { 1, {}, 0, '', { 0, 0 }, {} }
end
in_slices('HDEL', inbox_key(worker), cancelled)

local started, deliveries, ids, tokens_of = {}, {}, {}, {}
local run_until_s = math.ceil(now + WIP_TTL_S)

local function start(id, job, is_async)
  redis.call('HSET', job_key(id), 'status', 'started', 'started_at', iso_now(), 'worker_name', worker)
  if is_async then redis.call('HSET', job_key(id), 'origin', 'correct') end -- whose registries it goes through from here on
  started[#started + 1] = run_until_s
  started[#started + 1] = id .. ':' .. worker
  deliveries[#deliveries + 1] = delivery(id, job)
  ids[#ids + 1], tokens_of[id] = id, job.tokens
end

-- What an operator has put back has waited since just now, and has no deadline.
local function reserve_what_was_put_back()
  for at, tokens in ipairs(redis.call('HMGET', RESERVATIONS, unpack(ids))) do
    if not tokens then
      accept_again(ids[at], tokens_of[ids[at]])
      deliveries[at][3], deliveries[at][6] = 0, -1
    end
  end
end

-- nil: nothing to run under this id any more.
local function load(id)
  local job = job_to_run(id, needed_s)
  if job.status == 'started' then return nil end -- a second entry of an id that runs
  if is_undone(id, job.status) then
    put_back(id)
  elseif job.status ~= 'queued' then
    queue_publish(job.reply_to, '-' .. id)
    release(id)
    return nil
  end
  local why = job.is_late and 'expired' or job.cancel_requested
  if why and redis.call('HEXISTS', RESERVATIONS, id) == 1 then
    cancel_job(id, why, 'waiting')
    return nil
  end
  return job
end

local MOST_SUSPECTS = 32 -- of a group that comes as one: the root of a thousand

-- What comes next is taken until something must wait: ids behind it, too, for nobody is overtaken.
local must_wait, deferred, group, bytes = 0, '', nil, 0
local function take(id, is_async)
  if must_wait == 1 or #deliveries >= max_jobs or bytes >= MOST_BYTES then return false end
  local job = load(id)
  if not job then return true end
  if job.group and num_held > 0 or #deliveries > 0 and job.group ~= group then
    must_wait = 1
    return false
  end
  if is_async and job.tokens > math.min(async_tokens, free_tokens) then return false end
  if job.tokens > free_tokens then
    must_wait, deferred = 1, id
    return false
  end
  group = job.group
  free_tokens, bytes = free_tokens - job.tokens, bytes + math.min(#job.data, MAX_DATA_BYTES)
  turn = is_async and 0 or turn + 1
  if is_async then async_tokens = async_tokens - job.tokens end
  start(id, job, is_async)
  return true
end

local num_claimed = 0
while num_claimed < #claimed and take(claimed[num_claimed + 1]) do num_claimed = num_claimed + 1 end
push_front(claimed, num_claimed + 1)

local can_take = num_claimed == #claimed and max_jobs > 0
local depth = can_take and redis.call('LLEN', QUEUE) or 0
local num_async = can_take and redis.call('LLEN', ASYNC) or 0
local workers = depth + num_async > 0 and math.max(1, counts('takers').takers or 0) or 1

-- Not more ids than fit: a worker that is nearly full would read a thousand of them each time.
local LEAST_TOKENS = 16 -- of a request; what reserves less comes with the next DRAIN
local most = math.min(max_jobs, math.ceil(free_tokens / LEAST_TOKENS))

local async_share = math.min(math.ceil(num_async / workers), most)
local async_ids, async_taken, is_async_full = nil, 0, false
local function take_async()
  if is_async_full then return false end -- its first would be read again for each job
  async_ids = async_ids or async_share > 0 and redis.call('LRANGE', ASYNC, 0, async_share - 1) or {}
  local id = async_ids[async_taken + 1]
  is_async_full = not id or not take(id, true)
  if not is_async_full then async_taken = async_taken + 1 end
  return not is_async_full
end

local taken = 0
if depth > 0 then
  local share = math.min(math.ceil(depth / workers), most)
  for _, id in ipairs(redis.call('LRANGE', QUEUE, 0, math.max(share, MOST_SUSPECTS) - 1)) do
    if taken >= share and not group then break end -- a group is not shared
    if turn >= BEFORE_ASYNC and not group then take_async() end
    if not take(id) then break end
    taken = taken + 1
  end
  if taken > 0 then redis.call('LTRIM', QUEUE, taken, -1) end
end
if taken == depth then
  if is_quiet == '1' and #deliveries == 0 then async_tokens, is_async_full = free_tokens, false end
  while take_async() do end
elseif turn >= BEFORE_ASYNC then
  take_async()
end
if async_taken > 0 then redis.call('LTRIM', ASYNC, async_taken, -1) end
if #started > 0 then
  in_slices('ZADD', WIP, started)
  reserve_what_was_put_back()
end
close()
return { 0, cancelled, must_wait, deferred, { turn, num_async - async_taken }, deliveries }
