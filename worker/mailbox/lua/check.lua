-- CHECK: what became of these requests? Per id { 'gone' | 'pending' | 'expired' | 'canceled' | 'done', base64 payload }.
local states = {}
for at, id in ipairs(ARGV) do
  local status = redis.call('HGET', job_key(id), 'status')
  if not status then
    states[at] = { 'gone', '' }
  elseif status == 'canceled' then
    states[at] = { redis.call('HEXISTS', job_key(id), 'expired') == 1 and 'expired' or 'canceled', '' }
  elseif status == 'finished' or status == 'failed' then
    local last = redis.call('XREVRANGE', 'rq:results:' .. id, '+', '-', 'COUNT', 1)
    local payload
    if last[1] then
      local fields = last[1][2]
      for field = 1, #fields, 2 do
        if fields[field] == 'return_value' then payload = fields[field + 1] end
      end
    end
    states[at] = payload and { 'done', payload } or { 'gone', '' }
  else
    states[at] = { 'pending', '' }
  end
end
return states
