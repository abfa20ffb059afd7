-- CANCEL: one API process loses interest, or (channel '') the request shall end for everybody.
-- While another process still waits, the request lives on. ARGV: id, channel, base64 payload that tells the waiters,
-- 'cancelled' or 'expired'.
local id, channel, payload, why = unpack(ARGV)
local job = redis.call('HMGET', job_key(id), 'status', 'reply_to', 'worker_name')
local status, reply_to = job[1], job[2] or ''
if status ~= 'queued' and status ~= 'started' then return 'over' end

if channel ~= '' then
  local others = {}
  for other in string.gmatch(reply_to, '%S+') do
    if other ~= channel then others[#others + 1] = other end
  end
  reply_to = table.concat(others, ' ')
  redis.call('HSET', job_key(id), 'reply_to', reply_to)
  if #others > 0 then return 'kept' end
end

if status == 'queued' and redis.call('LREM', QUEUE, 1, id) > 0 then
  call_off(id, why, 'waiting', clock())
  local letters = {}
  announce(letters, reply_to, payload)
  publish(letters)
  return 'canceled'
end
-- It runs, or is being claimed: its worker is told, and whoever may get it next sees the mark.
redis.call('HSET', job_key(id), 'cancel_requested', why)
if status == 'started' then
  redis.call('SADD', 'miniserve:cancel:' .. job[3], id)
  redis.call('EXPIRE', 'miniserve:cancel:' .. job[3], 60)
end
return 'requested'
