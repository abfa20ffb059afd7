-- FIND: what is kept of an HTTP request, and what became of its jobs. ARGV: id.
-- Returns { document, tokenizer of its answers, number of open jobs, ids of its jobs, and of each { state, base64 payload } };
-- '' in the place of what is not there.
local id = ARGV[1]
local function text_at(key)
  local text = redis.pcall('GET', key)
  return type(text) == 'string' and text or ''
end

local record, own_tokenizer = fields_of(request_key(id), 'document', 'maker', 'jobs', 'open'), read(id, 'maker').maker
local job_ids, states = {}, {}
for job_id in string.gmatch(record.jobs or own_tokenizer and id or '', '%S+') do
  job_ids[#job_ids + 1] = job_id
  states[#states + 1] = state_of(job_id)
end
local document, tokenizer = record.document, record.maker
if not document then document, tokenizer = text_at(text_key(id)), own_tokenizer end
return { document, tokenizer or '', record.open or '', job_ids, states }
