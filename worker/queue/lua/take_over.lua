-- TAKE_OVER: what DRAIN is for the queue, for the offers of prefill workers. A job that fits moves in rq:wip from the worker
-- that read its prompt to this one; the other worker reads that from its inbox with its next DRAIN.
-- An offer is passed over if its job is no longer its worker's, and ended if it was cancelled or is late. Each delivery ends in
-- the bytes of OFFER, '' if they are gone.
local OFFERS, HANDOFFS, owners = 'miniserve:offers', 'miniserve:handoffs', {}

local function take_from_owner(id, owner)
  call('ZREM', WIP, id .. ':' .. owner)
  if call('ZSCORE', LEASES, owner) then call('HSET', inbox_key(owner), id .. ':taken', 1) end
end

load = function(offer)
  local id, owner = owner_of(offer)
  local job = job_to_run(id, 0)
  local is_owned = job.status == 'started' and job.worker_name == owner
  local why = is_owned and (job.is_late and 'expired' or job.cancel_requested)
  if why then
    take_from_owner(id, owner)
    cancel_job(id, why, 'running')
  elseif is_owned then
    owners[id] = owner
    return delivery(id, job), job.tokens, job.group
  elseif not job.status then -- deleted by hand while it was offered
    take_from_owner(id, owner)
    release(id)
  end
end

while true do
  local offer, num_taken = call('LINDEX', OFFERS, 0), #deliveries
  if not offer or not take(offer) then break end
  call('LPOP', OFFERS)
  local row = deliveries[num_taken + 1]
  if row then
    local id = row[1]
    take_from_owner(id, owners[id])
    local handoff = redis.pcall('GETDEL', 'miniserve:handoff:' .. id)
    row[10] = type(handoff) == 'string' and handoff or ''
    call('ZREM', HANDOFFS, id .. ':' .. #row[10])
    bytes = bytes + #row[10]
  end
end
if #started > 0 then in_slices('ZADD', WIP, started) end
close()
return { 0, cancelled, must_wait, deferred, 0, deliveries }
