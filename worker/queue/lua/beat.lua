close()
if needs_rules then
  local reservations, sum = call('HVALS', RESERVATIONS), 0
  for _, each in ipairs(reservations) do sum = sum + (reservation_of(each)) end
  call('HSET', COUNTS, 'reserved_tokens', sum, 'reserved_requests', #reservations)
end
remember(now)
for at, each in ipairs({ num_changed, num_decoders, foreign_workers() }) do reply[5 + at] = each end
return reply
