-- FIND: the record of an HTTP request, and what became of its jobs. ARGV: id.
-- Returns { document, tokenizer of its answers, number of open jobs, ids of its jobs, { state, base64 payload } of each };
-- '' for what is missing.
local id = ARGV[1]
local record = fields_of(request_key(id), 'document', 'maker', 'jobs', 'open')
local job_ids, states = {}, {}
for job_id in string.gmatch(record.jobs or '', '%S+') do
  job_ids[#job_ids + 1] = job_id
  states[#states + 1] = state_of(job_id)
end
return { record.document or '', record.maker or '', record.open or '', job_ids, states }
