-- DROP: forget a dead letter and the record of its request. ARGV: id.
-- Returns 'dropped', the status of a job that is no dead letter, or '' for none.
local id = ARGV[1]

-- The record of a request lives as long as the last of its jobs.
local function shorten_record(request)
  local key, latest_s, latest_id = request_key(request), 0, nil
  for other in string.gmatch(fields_of(key, 'jobs').jobs or '', '%S+') do
    local status = other ~= id and read(other, 'status').status
    if status then
      local until_s = redis.pcall('ZSCORE', registry_of(status), other)
      if type(until_s) ~= 'string' then return end -- it is open
      if tonumber(until_s) >= latest_s then latest_s, latest_id = tonumber(until_s), other end
    end
  end
  if not latest_id then
    call('DEL', key)
  else
    call('EXPIRE', key, math.max(1, call('TTL', job_key(latest_id))))
    call('HSET', key, 'kept_until', latest_s)
  end
end

local job = read(id, 'status', 'request')
if is_undone(id, job.status) then return 'queued' end
if job.status ~= 'failed' then return job.status or '' end
if job.request then shorten_record(job.request) end
call('ZREM', registry_of('failed'), id)
call('DEL', job_key(id), 'rq:results:' .. id)
close()
return 'dropped'
