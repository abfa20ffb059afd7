-- PROGRESS: publish what running jobs have written so far. Nothing is stored: the answer will hold it all.
-- ARGV: worker, then per job: id, base64 payload.
local worker = ARGV[1]
for at = 2, #ARGV, 2 do
  local job = read(ARGV[at], 'status', 'worker_name', 'reply_to')
  if job.status == 'started' and job.worker_name == worker then queue_publish(job.reply_to, ARGV[at + 1]) end
end
close()
return 0
