-- TAKE_OVER: what DRAIN is for the queue, for the offers of prefill workers. Each request that fits moves in rq:wip from
-- the worker that read its prompt to this one; that one learns it from its inbox, with its next DRAIN.
-- An offer is passed over if its request is no longer its worker's, and ended if it was cancelled or is late. Suspects come
-- in their groups, as in DRAIN. Each delivery ends in the bytes of OFFER, '' where they are gone.
local OFFERS, HANDOFFS = 'miniserve:offers', 'miniserve:handoffs'

local function take_from_owner(id, owner)
  call('ZREM', WIP, id .. ':' .. owner)
  if call('ZSCORE', LEASES, owner) then call('HSET', inbox_key(owner), id .. ':taken', 1) end
end

local function take_over(id, owner, job)
  take_from_owner(id, owner)
  call('ZADD', WIP, now + WIP_TTL_S, id .. ':' .. worker)
  call('HSET', job_key(id), 'worker_name', worker)
  local row = delivery(id, job)
  local handoff = redis.pcall('GETDEL', 'miniserve:handoff:' .. id)
  row[10] = type(handoff) == 'string' and handoff or ''
  call('ZREM', HANDOFFS, id .. ':' .. #row[10])
  return row
end

local group
while #deliveries < max_jobs and bytes < MOST_BYTES do
  local member = call('LINDEX', OFFERS, 0)
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
  call('LPOP', OFFERS)
end
close()
return { 0, cancelled, must_wait, deferred, 0, deliveries }
