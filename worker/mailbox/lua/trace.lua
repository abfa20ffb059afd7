-- TRACE: the parts that are kept of a request's trace, and what is known of its jobs. ARGV: its id, ttl s of traces.
-- Returns { now, { line... }, { job id, status, when it ended }... }, '' for what is not known; nothing where no job of
-- it is known. Times as RQ writes them.
local request, now = ARGV[1], clock()
local lines, tails = {}, ''

local function look_into(text)
  local at = string.find(text, '\n' .. request, 1, true)
  while at do
    local stop = string.find(text, '\n', at + 1, true) or #text + 1
    local rest = string.sub(text, at + 1 + #request, stop - 1)
    if string.find(rest, '^[ :-]') then lines[#lines + 1] = request .. rest end -- not of a longer id
    tails = string.match(rest, '^:api ([^;]*)') or tails
    at = string.find(text, '\n' .. request, stop, true)
  end
end

for minute = math.floor((now - tonumber(ARGV[2])) / 60), math.floor(now / 60) do
  for _, text in ipairs(redis.call('LRANGE', traces_key(minute, string.sub(request, 1, 1)), 0, -1)) do look_into(text) end
end

local ids = {}
for tail in string.gmatch(tails, '%S+') do ids[#ids + 1] = tail == '.' and request or request .. tail end
if #ids == 0 then
  for id in string.gmatch(redis.call('HGET', request_key(request), 'jobs') or '', '%S+') do ids[#ids + 1] = id end
end
if #ids == 0 then return {} end
local found = { iso(now), lines }
for _, id in ipairs(ids) do
  local job = redis.call('HMGET', job_key(id), 'status', 'ended_at')
  found[#found + 1] = { id, job[1] or '', job[2] or '' }
end
return found
