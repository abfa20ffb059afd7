-- BEAT, where the accounts and the places of jobs differ. A deleted job is released, one that is in no place goes back to the
-- queue, and one that a dashboard put back is reserved again. A job that a worker of RQ's has failed is claimed for this
-- worker, or that one might take it again first.
local claimer = is_suspended == 0 and not string.find(rate, '%a') and worker or nil -- one of all roles
local is_placed = {}
for _, list in ipairs({ QUEUE, ASYNC, DECODE }) do
  for _, id in ipairs(call('LRANGE', list, 0, -1)) do is_placed[id] = true end
end
for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do is_placed[(owner_of(member))] = true end
for live in pairs(is_live) do
  for _, id in ipairs(call('LRANGE', claim_key(live), 0, -1)) do is_placed[id] = true end
end

for id in pairs(is_placed) do
  local job = read(id, 'reserved_tokens', 'status')
  local tokens = (job.status == 'queued' or job.status == 'started') and number(job.reserved_tokens, 1, MOST_TOKENS)
  if tokens and call('HEXISTS', RESERVATIONS, id) == 0 and not is_answered(id) then
    accept_again(id, tokens)
    num_changed = num_changed + 1
  end
end
for _, id in ipairs(call('HKEYS', RESERVATIONS)) do
  local status = not released[id] and read(id, 'status').status
  if status == 'canceled' then -- with RQ's tools
    call('ZREM', registry_of('canceled') .. '-async', id)
    cancel_job(id, 'cancelled', 'waiting')
    num_changed = num_changed + 1
  elseif status ~= 'queued' and status ~= 'started' and not UNDONE[status or ''] then
    num_changed = num_changed + (release(id) and 1 or 0)
  elseif not is_placed[id] then
    num_changed = num_changed + requeue({ id }, nil, claimer)
  end
end
