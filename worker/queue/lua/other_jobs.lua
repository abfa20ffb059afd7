-- DRAIN of jobs that are not plain. It goes on at the first of them.
local MOST_SUSPECTS = 32 -- in a group: the square root of a thousand
local function is_reserved(id) return call('HEXISTS', RESERVATIONS, id) == 1 end

load = function(id)
  local job = job_to_run(id, needed_s)
  if job.status == 'started' then return nil end -- a second entry of a job that runs
  local is_cancelled = job.status == 'canceled' and is_reserved(id) -- with RQ's tools
  if is_answered(id) then
    call('HSET', job_key(id), 'status', 'finished')
    return nil
  elseif is_undone(id, job.status) then
    put_back(id)
  elseif job.status ~= 'queued' and not is_cancelled then
    queue_publish(job.reply_to, '-' .. id)
    release(id)
    return nil
  end
  local why = is_cancelled and 'cancelled' or job.is_late and 'expired' or job.cancel_requested
  if why and is_reserved(id) then
    cancel_job(id, why, 'waiting')
    return nil
  elseif not job.accepted_at and not is_reserved(id) then
    accept_again(id, job.tokens)
    job.deadline = nil
  end
  return delivery(id, job), job.tokens, job.group
end

local async_ids = num_async > 0 and call('LRANGE', ASYNC, 0, math.min(math.ceil(num_async / workers), most) - 1) or {}
local function take_async(number)
  while num_async_taken < number and async_ids[async_at + 1] and take(async_ids[async_at + 1], true) do async_at = async_at + 1 end
end

-- Nothing passes a suspect, or a job that waits for room.
local head = num_async > 0 and ids[1] and job_to_run(ids[1], needed_s)
if not (head and (head.group or head.tokens > free_tokens)) then take_async(tonumber(more_async)) end

local num_shared = #ids
if share < depth then -- a group is not shared
  for _, id in ipairs(call('LRANGE', QUEUE, share, MOST_SUSPECTS - 1)) do ids[#ids + 1] = id end
end
while num_taken < #ids and (num_taken < num_shared or group) and take(ids[num_taken + 1]) do num_taken = num_taken + 1 end
local is_alone = num_others == '0' and num_taken == num_claimed + depth and #deliveries == num_async_taken
if is_alone then take_async(max_jobs) end
