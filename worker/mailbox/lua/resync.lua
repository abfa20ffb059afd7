-- RESYNC: after a broken connection or a lost lease, compare what the worker holds with what Redis says it holds.
-- ARGV: worker, lease s, epoch, ids it holds.
-- Returns { ids no longer its own, { id, attempt, waited us, data, streams, deadline in us }... }
local worker, lease_s, epoch = unpack(ARGV, 1, 3)
local now = clock()
redis.call('DEL', inbox_key(worker)) -- first: a Redis without memory takes this write, and then the others
redis.call('ZADD', LEASES, now + tonumber(lease_s), worker)
redis.call('HSET', inbox_key(worker), 'epoch', epoch)
-- What a connection that broke had claimed goes back.
local claimed = redis.call('LPOP', claim_key(worker), 1000) or {}
for at = #claimed, 1, -1 do redis.call('LPUSH', QUEUE, claimed[at]) end

local is_held, is_own = {}, {}
for at = 4, #ARGV do is_held[ARGV[at]] = true end

local deliveries = {}
for _, id in ipairs(ids_run_by(worker)) do
  local job = redis.call('HMGET', job_key(id), 'status', 'worker_name', 'data', 'attempts', 'accepted_at', 'streams',
    'deadline', 'cancel_requested')
  if job[1] == 'started' and job[2] == worker then
    is_own[id] = true
    if job[8] and job[8] ~= '' then redis.call('HSET', inbox_key(worker), id, job[8]) end
    if not is_held[id] then -- the reply that brought it was lost
      local waited_us = math.max(0, math.floor((now - (tonumber(job[5]) or now)) * 1000000))
      deliveries[#deliveries + 1] = { id, tonumber(job[4]) or 1, waited_us, job[3] or '', job[6] or '', left_us(job[7], now) }
    end
  else
    redis.call('ZREM', WIP, id .. ':' .. worker)
    if not job[1] then release(id) end
  end
end

close()
local disowned = {}
for id in pairs(is_held) do
  if not is_own[id] then disowned[#disowned + 1] = id end
end
return { disowned, deliveries }
