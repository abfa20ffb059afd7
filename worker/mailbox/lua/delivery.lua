-- What a worker gets of jobs.
local MOST_BYTES = 4 * 1048576 -- then the next claim takes more: nobody else is served meanwhile

-- A job that may be run. `group`: with whom, of one that a worker died with; nil of any other, and those run with each other.
-- `needed_s`: it is late if less is left until its deadline.
local function job_to_run(id, needed_s)
  local status, worker, cancelled, deadline, tokens, accepted_at, attempts, group, data, streams, reply_to, result_ttl, is_plain =
    values_of(id, 'status', 'worker_name', 'cancel_requested', 'deadline', 'reserved_tokens', 'accepted_at', 'attempts', 'group', 'data',
      'streams', 'reply_to', 'result_ttl', 'is_plain')
  local num_deaths = attempts_of(attempts)
  return { status = status, worker_name = worker, cancel_requested = cancelled ~= '' and cancelled, deadline = number(deadline),
    is_late = is_before(deadline, clock() + needed_s), tokens = number(tokens, 1, MOST_TOKENS) or 1, accepted_at = number(accepted_at),
    num_deaths = num_deaths, group = group ~= '' and group or num_deaths > 0 and id or nil, data = data or '', streams = streams or '',
    reply_to = reply_to, ticket = is_plain == '1' and reply_to and accepted_at and result_ttl and reply_to .. ' ' .. accepted_at .. ' ' .. result_ttl or '' }
end

local function us_between(from, to) return math.max(0, math.min(math.floor((to - from) * 1000000), 1e15)) end

-- { id, attempt, waited us, data, streams, us until its deadline or -1, 1 of a suspect, 1 of an asynchronous one, ticket }: what FINISH
-- needs to know of a job that nobody attaches to; '' of any other.
local function delivery(id, job)
  return { id, job.num_deaths + 1, us_between(job.accepted_at or clock(), clock()), string.sub(job.data, 1, MAX_DATA_BYTES + 1), job.streams,
    job.deadline and us_between(clock(), job.deadline) or -1, job.group and 1 or 0, job.reply_to == NOBODY and 1 or 0, job.ticket }
end
