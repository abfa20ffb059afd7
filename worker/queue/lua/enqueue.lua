local num_new = #reserved / 2
if num_new == 0 then call('DEL', 'miniserve:nothing') end -- a Redis without memory takes this write, and then the counts of refusals
counted.accepted, counted.reserved_requests = num_new, (counted.reserved_requests or 0) + num_new
counted.reserved_tokens = (counted.reserved_tokens or 0) + num_tokens - sums.reserved_tokens
counted.law_us = (counted.law_us or 0) - law_us * num_new
in_slices('RPUSH', QUEUE, pushed)
in_slices('RPUSH', ASYNC, pushed_async)
close()
return replies
