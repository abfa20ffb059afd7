-- RECONCILE: look at every accepted id. What was deleted is released, what is nowhere goes back to the queue, and what
-- a dashboard put back is reserved again. What workers of RQ's have failed is claimed for a worker of ours.
-- ARGV: a worker that claims; none where the caller claims nothing. Returns the number of ids put right.
local claimer, num_changed = ARGV[1], 0
local is_placed = {}
for _, list in ipairs({ QUEUE, ASYNC }) do
  for _, id in ipairs(call('LRANGE', list, 0, -1)) do is_placed[id] = true end
end
for _, member in ipairs(call('ZRANGE', WIP, 0, -1)) do is_placed[(owner_of(member))] = true end
for _, live in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  for _, id in ipairs(call('LRANGE', claim_key(live), 0, -1)) do is_placed[id] = true end
end

for id in pairs(is_placed) do
  local job = read(id, 'reserved_tokens', 'status')
  local tokens = (job.status == 'queued' or job.status == 'started') and number(job.reserved_tokens, 1, MOST_TOKENS)
  if tokens and call('HEXISTS', RESERVATIONS, id) == 0 then
    accept_again(id, tokens)
    num_changed = num_changed + 1
  end
end
for _, id in ipairs(call('HKEYS', RESERVATIONS)) do
  local status = read(id, 'status').status
  if status == 'canceled' then -- with RQ's tools
    call('ZREM', registry_of('canceled') .. '-async', id)
    cancel_job(id, 'cancelled', 'waiting')
    num_changed = num_changed + 1
  elseif status ~= 'queued' and status ~= 'started' and not UNDONE[status or ''] then
    release(id)
    num_changed = num_changed + 1
  elseif not is_placed[id] then
    num_changed = num_changed + requeue({ id }, nil, claimer)
  end
end
close()

local reservations, sum = call('HVALS', RESERVATIONS), 0
for _, each in ipairs(reservations) do sum = sum + (reservation_of(each)) end
call('HSET', COUNTS, 'reserved_tokens', sum, 'reserved_requests', #reservations)
return num_changed
