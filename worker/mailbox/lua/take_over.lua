-- TAKE_OVER: what DRAIN is for the queue, for the offers of prefill workers. Each request that fits moves in rq:wip from
-- the worker that read its prompt to this one; that one learns it from its inbox, with its next DRAIN.
-- An offer is passed over if its request is no longer its worker's, and ended if it was cancelled or is late. Suspects come
-- in their groups, as in DRAIN. ARGV and reply: as of DRAIN; what concerns asynchronous requests has no meaning, and each
-- delivery ends in the bytes of OFFER, '' where they are gone.
local worker, lease_s, epoch, free_tokens, max_jobs, num_held = unpack(ARGV, 1, 6)
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
local OFFERS, HANDOFFS = 'miniserve:offers', 'miniserve:handoffs'
local now = clock()
local inbox, cancelled = hash_of(inbox_key(worker)), {}
if inbox.epoch ~= epoch or redis.call('ZADD', LEASES, 'XX', 'CH', now + tonumber(lease_s), worker) == 0 then
  return { 1, {}, 0, '', 0, {} }
end
for id in pairs(inbox) do
  if id ~= 'epoch' then cancelled[#cancelled + 1] = id end
end
in_slices('HDEL', inbox_key(worker), cancelled)

local function take_from_owner(id, owner)
  redis.call('ZREM', WIP, id .. ':' .. owner)
  if redis.call('ZSCORE', LEASES, owner) then redis.call('HSET', inbox_key(owner), id .. ':taken', 1) end
end

local function take_over(id, owner, job)
  take_from_owner(id, owner)
  redis.call('ZADD', WIP, now + WIP_TTL_S, id .. ':' .. worker)
  redis.call('HSET', job_key(id), 'worker_name', worker)
  local row = delivery(id, job)
  local handoff = redis.pcall('GETDEL', 'miniserve:handoff:' .. id)
  row[10] = type(handoff) == 'string' and handoff or ''
  redis.call('ZREM', HANDOFFS, id .. ':' .. #row[10])
  return row
end

local deliveries, must_wait, deferred, group, bytes = {}, 0, '', nil, 0
while #deliveries < max_jobs and bytes < MOST_BYTES do
  local member = redis.call('LINDEX', OFFERS, 0)
  if not member then break end
  local id, owner = owner_of(member)
  local job = job_to_run(id, 0)
  local is_owned = job.status == 'started' and job.worker_name == owner
  local why = job.is_late and 'expired' or job.cancel_requested
  if not job.status then -- deleted by hand while it was offered
    take_from_owner(id, owner)
    release(id)
  elseif is_owned and why then
    take_from_owner(id, owner)
    cancel_job(id, why, 'running')
  elseif is_owned then
    if job.group and num_held > 0 or #deliveries > 0 and job.group ~= group then
      must_wait = 1
      break
    end
    if job.tokens > free_tokens then
      must_wait, deferred = 1, id
      break
    end
    group, free_tokens = job.group, free_tokens - job.tokens
    deliveries[#deliveries + 1] = take_over(id, owner, job)
    bytes = bytes + #deliveries[#deliveries][10]
  end
  redis.call('LPOP', OFFERS)
end
close()
return { 0, cancelled, must_wait, deferred, 0, deliveries }
