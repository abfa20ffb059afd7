-- CANCEL: an API process no longer waits for some jobs, or (channel '') they are to end for all clients. A job that another
-- process waits for goes on. ARGV: channel, 'cancelled' or 'expired', ids.
-- Returns of each 'over', 'kept', 'canceled' or 'requested'.
local channel, why = unpack(ARGV, 1, 2)
call('DEL', 'miniserve:nothing') -- a Redis without memory takes this write, and then the others

local function without(channels, own)
  local others = {}
  for other in string.gmatch(channels, '%S+') do
    if other ~= own then others[#others + 1] = other end
  end
  return table.concat(others, ' ')
end

-- Takes a job out of its place. Returns false if a live worker runs it.
local function take_out(id, status, worker)
  if status == 'started' then return not is_leased(worker) and call('ZREM', WIP, id .. ':' .. worker) > 0 end
  if call('LREM', QUEUE, 1, id) + call('LREM', ASYNC, 1, id) + call('LREM', DECODE, 1, id) > 0 then return true end
  for _, each in ipairs(call('ZRANGE', LEASES, 0, -1)) do
    if call('LREM', claim_key(each), 1, id) > 0 then return true end
  end
  return false
end

local function cancel(id)
  local job = read(id, 'status', 'reply_to', 'worker_name')
  local status, reply_to, worker = job.status, job.reply_to or '', job.worker_name or ''
  local is_failed = is_undone(id, status) -- by a worker of RQ's
  if status ~= 'queued' and status ~= 'started' and not is_failed then return 'over' end
  if channel ~= '' then
    reply_to = without(reply_to, channel)
    call('HSET', job_key(id), 'reply_to', reply_to)
    if reply_to ~= '' then return 'kept' end
  end
  if is_failed then put_back(id) end
  if take_out(id, is_failed and 'queued' or status, worker) or is_failed then
    cancel_job(id, why, status == 'started' and 'running' or 'waiting')
    return 'canceled'
  end
  -- Its worker reads it from the inbox, and the next worker to take the job sees the mark.
  call('HSET', job_key(id), 'cancel_requested', why, 'special', 1)
  if status == 'started' and is_leased(worker) then call('HSET', inbox_key(worker), id, why) end
  return 'requested'
end

local replies = {}
for at = 3, #ARGV do replies[#replies + 1] = cancel(ARGV[at]) end
close()
return replies
