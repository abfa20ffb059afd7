-- DROP: forget a dead letter, with its text and its trace. ARGV: id.
-- Returns 'dropped'; the status of what is no dead letter; '' where there is nothing.
local id = ARGV[1]
local status = redis.call('HGET', job_key(id), 'status')
if status ~= 'failed' then return status or '' end
unkeep(id, 'failed')
redis.call('DEL', job_key(id), 'rq:results:' .. id, 'miniserve:text:' .. id, 'miniserve:trace:' .. id)
close()
return 'dropped'
