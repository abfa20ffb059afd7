-- Whether an answer is still to be counted for its learner. `is_first`: it is given by POST.
local function is_new(id, is_first, field)
  if id == '' then return true end
  local record = request_key(id)
  if call('EXISTS', record) == 0 then return is_first end -- nobody can have it again
  return redis.pcall('HSETNX', record, field or 'counted', 1) == 1
end
