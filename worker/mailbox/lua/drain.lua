-- DRAIN: renew the lease, then hand over what was claimed and this worker's share of the queue, as far as it fits.
-- A suspect, which an earlier worker died with, comes alone: to a worker that holds nothing, and with nothing beside it.
-- So of a batch that killed its worker each runs by itself, and only what kills again is given up.
-- Returns { lost lease, cancelled ids, { id, attempt, waited us, data, streams, deadline in us }... }
-- ARGV: worker, lease s, free tokens, '1' where one more may be held, most jobs, number held, seconds that a request
-- took lately from its start to its end.
local worker, lease_s, free_tokens, may_look_ahead, max_jobs, num_held, service_s = unpack(ARGV)
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
-- Beside others it will take as long as they did: who would be late is dropped now. If it were started, an overloaded
-- worker would spend all its tokens on requests whose deadline comes while they run, and answer nobody.
local needed_s = num_held > 0 and tonumber(service_s or 0) or 0
local now = clock()
local had_lease = redis.call('ZSCORE', LEASES, worker)
redis.call('ZADD', LEASES, now + tonumber(lease_s), worker)
-- Others may have taken its work in the meantime: it must RESYNC before it takes more.
if not had_lease then return { 1, {}, {} } end

local cancelled = redis.call('SMEMBERS', 'miniserve:cancel:' .. worker)
if #cancelled > 0 then redis.call('DEL', 'miniserve:cancel:' .. worker) end

local now_iso
local started, deliveries = {}, {}

local function start(id, job)
  now_iso = now_iso or iso(now)
  local attempt = redis.call('HINCRBY', job_key(id), 'attempts', 1)
  redis.call('HSET', job_key(id), 'status', 'started', 'started_at', now_iso, 'worker_name', worker)
  if reserve(id, tonumber(job[3]) or 1) then -- a dead letter that the dashboard put back
    job[4] = string.format('%.6f', now) -- it has waited since just now, and not since its first life
    redis.call('HSET', job_key(id), 'accepted_at', job[4])
  end
  started[#started + 1] = now + WIP_TTL_S
  started[#started + 1] = id .. ':' .. worker
  local waited_us = math.max(0, math.floor((now - (tonumber(job[4]) or now)) * 1000000))
  deliveries[#deliveries + 1] = { id, attempt, waited_us, job[1], job[8] or '', left_us(job[6], now) }
end

-- nil: nothing to run under this id any more.
local function load(id)
  local job = redis.call('HMGET', job_key(id), 'data', 'status', 'reserved_tokens', 'accepted_at', 'cancel_requested',
    'deadline', 'attempts', 'streams')
  if job[2] == 'started' then return nil end -- a second entry of an id that runs
  if job[5] and job[5] ~= '' and job[2] == 'queued' then
    call_off(id, job[5], 'waiting', now)
    return nil
  end
  if job[2] == 'queued' and job[6] and job[6] ~= '' and tonumber(job[6]) < now + needed_s then
    call_off(id, 'expired', 'waiting', now)
    return nil
  end
  if not job[1] or job[2] ~= 'queued' then
    release(id)
    return nil
  end
  return job
end

local function is_suspect(job) return (tonumber(job[7]) or 0) > 0 end

local has_suspect = false
local put_back = {}
for _, id in ipairs(redis.call('LRANGE', claim_key(worker), 0, -1)) do
  local job = load(id)
  if job and (has_suspect or is_suspect(job) and num_held + #deliveries > 0) then
    put_back[#put_back + 1] = id
  elseif job then
    start(id, job)
    has_suspect = is_suspect(job)
    free_tokens = free_tokens - (tonumber(job[3]) or 1)
  end
end
for at = #put_back, 1, -1 do redis.call('LPUSH', QUEUE, put_back[at]) end
redis.call('DEL', claim_key(worker))

local depth = redis.call('LLEN', QUEUE)
if depth > 0 and free_tokens > 0 and not has_suspect then
  local workers = math.max(1, redis.call('ZCOUNT', LEASES, now, '+inf'))
  local share = math.min(math.ceil(depth / workers), max_jobs)
  local taken = 0
  for _, id in ipairs(redis.call('LRANGE', QUEUE, 0, share - 1)) do
    local job = load(id)
    if job then
      has_suspect = is_suspect(job)
      if has_suspect and num_held + #deliveries > 0 then break end
      free_tokens = free_tokens - (tonumber(job[3]) or 1)
      if free_tokens < 0 and may_look_ahead == '0' then break end
      start(id, job)
    end
    taken = taken + 1
    if free_tokens < 0 or has_suspect then break end
  end
  if taken > 0 then redis.call('LTRIM', QUEUE, taken, -1) end
end
if #started > 0 then in_slices('ZADD', WIP, started) end
return { 0, cancelled, deliveries }
