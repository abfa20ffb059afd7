-- TRACE: the parts that are kept of a request's trace, and what is known of its jobs. ARGV: its id, ttl s of traces.
-- Returns { now, { line... }, { job id, status, when it ended }... }, '' for what is not known; nothing where no job of
-- it is known. Times as RQ writes them.
local request, now = ARGV[1], clock()
local is_there, num_names, lines, ids = {}, 0, {}, {}

local function note(rest) -- what follows the request's id in a line
  if is_there[rest] then return end -- it was sent twice
  is_there[rest] = true
  lines[#lines + 1] = request .. rest
  local name = string.match(rest, '^[^ ]*')
  if is_there[name] then return end -- of another attempt
  is_there[name] = true
  num_names = num_names + 1
  if name == ':api' then
    for tail in string.gmatch(string.match(rest, '^:api ([^;]*)'), '%S+') do
      ids[#ids + 1] = tail == '.' and request or request .. tail
    end
  end
end

local function look_into(text)
  local at = string.find(text, '\n' .. request, 1, true)
  while at do
    local stop = string.find(text, '\n', at + 1, true) or #text + 1
    local rest = string.sub(text, at + 1 + #request, stop - 1)
    if string.find(rest, '^[ :-]') then note(rest) end -- else it is of a longer id
    at = string.find(text, '\n' .. request, stop, true)
  end
end

local shelf = string.sub(request, 1, 2)
for minute = math.floor(now / 60), math.floor((now - tonumber(ARGV[2])) / 60), -1 do
  for _, text in ipairs(redis.call('LRANGE', traces_key(minute, shelf), 0, -1)) do look_into(text) end
  if #ids > 0 and num_names > #ids then break end
end

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
