-- DROP: forget a dead letter and the record of its request, with its text. ARGV: id.
-- Returns 'dropped', the status of a job that is no dead letter, or '' for none.
local id = ARGV[1]
local job = read(id, 'status', 'request')
if is_undone(id, job.status) then return 'queued' end
if job.status ~= 'failed' then return job.status or '' end
call('ZREM', registry_of('failed'), id)
call('DEL', job_key(id), 'rq:results:' .. id, request_key(job.request or ''))
return 'dropped'
