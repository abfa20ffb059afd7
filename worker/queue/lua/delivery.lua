-- What a worker gets of jobs.

-- A job that may be run. `group`: with whom, of one that a worker died with; nil of any other, and those run with each other.
-- `needed_s`: it is late if less is left until its deadline; one that cannot be read is over.
local function job_to_run(id, needed_s)
  local job = read(id, 'status', 'worker_name', 'cancel_requested', 'deadline', 'reserved_tokens', 'accepted_at', 'attempts', 'group', 'data',
    'streams', 'reply_to', 'special', 'ticket')
  job.ticket = not job.special and job.ticket or ''
  job.is_late, job.tokens = job.deadline and (number(job.deadline) or 0) < now + needed_s, number(job.reserved_tokens, 1, MOST_TOKENS) or 1
  job.deadline, job.accepted_at, job.num_deaths = number(job.deadline), number(job.accepted_at), number(job.attempts, 0, 99) or 0
  job.group, job.data = job.group or job.num_deaths > 0 and id or nil, job.data or ''
  return job
end

local function us_between(from, to) return math.max(0, math.min(math.floor((to - from) * 1000000), 1e15)) end

-- { id, attempt, waited us, data, streams, us until its deadline or -1, 1 of a suspect, 1 of an asynchronous one, ticket }: what FINISH
-- needs to know of a job that nobody attaches to; '' of any other.
local function delivery(id, job)
  return { id, job.num_deaths + 1, us_between(job.accepted_at or now, now), string.sub(job.data, 1, MAX_DATA_BYTES + 1), job.streams or '',
    job.deadline and us_between(now, job.deadline) or -1, job.group and 1 or 0, job.reply_to == NOBODY and 1 or 0, job.ticket }
end
