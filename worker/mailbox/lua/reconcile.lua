-- RECONCILE: look at every accepted id. What was deleted is released, what is nowhere goes back to the queue, and what
-- a dashboard put back is reserved again. Returns the number of ids put right.
local num_changed, now = 0, clock()
local is_placed = {}
for _, list in ipairs({ QUEUE, ASYNC }) do
  for _, id in ipairs(redis.call('LRANGE', list, 0, -1)) do is_placed[id] = true end
end
for _, member in ipairs(redis.call('ZRANGE', WIP, 0, -1)) do is_placed[(owner_of(member))] = true end
for _, live in ipairs(redis.call('ZRANGE', LEASES, 0, -1)) do
  for _, id in ipairs(redis.call('LRANGE', claim_key(live), 0, -1)) do is_placed[id] = true end
end

for id in pairs(is_placed) do
  local tokens = number(read(id, 'reserved_tokens').reserved_tokens, 1)
  if tokens and redis.call('HEXISTS', RESERVATIONS, id) == 0 then
    reserve(id, tokens)
    redis.call('HSET', job_key(id), 'accepted_at', string.format('%.6f', now))
    num_changed = num_changed + 1
  end
end
redis.call('DEL', CLIENTS)
count('shares', -(counts('shares').shares or 0))
for _, id in ipairs(redis.call('HKEYS', RESERVATIONS)) do
  local job = read(id, 'status', 'share')
  local status = job.status
  if status ~= 'queued' and status ~= 'started' then
    release(id)
    num_changed = num_changed + 1
  elseif not is_placed[id] then
    num_changed = num_changed + requeue({ id })
  end
  if status == 'queued' or status == 'started' then hold(job.share, 1) end
end
close()

local sum = 0
for _, tokens in ipairs(redis.call('HVALS', RESERVATIONS)) do sum = sum + (number(tokens) or 0) end
redis.call('HSET', COUNTS, 'reserved_tokens', sum)
return num_changed
