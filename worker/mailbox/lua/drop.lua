-- DROP: forget a dead letter, with its text. ARGV: id.
-- Returns 'dropped'; the status of what is no dead letter; '' where there is nothing.
local id = ARGV[1]

-- The text of a request is kept as long as the last of its jobs. `own_until_s` and `own_ttl` are those of the dead letter, whose
-- end may have been the last: then the bytes of the text are counted until then, see `keep_text`.
local function shorten_record(request, own_until_s, own_ttl)
  local key, latest_s, latest_id = request_key(request), 0, nil
  local record = fields_of(key, 'jobs', 'document')
  for other in string.gmatch(record.jobs or '', '%S+') do
    local status = other ~= id and read(other, 'status').status
    if status then
      local until_s = redis.pcall('ZSCORE', registry_of(status), other)
      if type(until_s) ~= 'string' then return end -- it is open
      if tonumber(until_s) >= latest_s then latest_s, latest_id = tonumber(until_s), other end
    end
  end
  local bytes = RECORD_BYTES + #(record.document or '')
  local is_last = own_until_s >= latest_s and redis.call('TTL', key) >= own_ttl - 1
  if is_last then keep(own_until_s, -bytes) end
  if not latest_id then
    redis.call('DEL', key)
  elseif is_last then
    redis.call('EXPIRE', key, math.max(1, redis.call('TTL', job_key(latest_id))))
    redis.call('HSET', key, 'kept_until', latest_s)
    keep(latest_s, bytes)
  end
end

local job = read(id, 'status', 'request', 'kept_until')
if is_undone(id, job.status) then return 'queued' end
if job.status ~= 'failed' then return job.status or '' end
if job.request then
  local until_s = redis.call('ZSCORE', registry_of('failed'), id)
  shorten_record(job.request, tonumber(until_s or 0), redis.call('TTL', job_key(id)))
end
if job.kept_until then keep(number(job.kept_until) or 0, -TEXT_BYTES - redis.call('STRLEN', text_key(id))) end
unkeep(id, 'failed')
redis.call('DEL', job_key(id), 'rq:results:' .. id, text_key(id))
close()
return 'dropped'
