-- DROP: forget a dead letter. ARGV: id. Returns its status where it is no dead letter, '' where there is none, 'dropped'.
local id = ARGV[1]
local status = redis.call('HGET', job_key(id), 'status')
if status ~= 'failed' then return status or '' end
redis.call('ZREM', registry_of('failed'), id)
redis.call('DEL', job_key(id), 'rq:results:' .. id)
release(id)
return 'dropped'
