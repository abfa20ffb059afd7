close()
if needs_rules then
  local reservations, sum = call('HVALS', RESERVATIONS), 0
  for _, each in ipairs(reservations) do sum = sum + (reservation_of(each)) end
  call('HSET', COUNTS, 'reserved_tokens', sum, 'reserved_requests', #reservations)
end
remember(now)
reply[6], reply[7] = num_changed, num_decoders
return reply
