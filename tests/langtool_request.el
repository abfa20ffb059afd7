;; Asks for a check as langtool 2.3.8 does: one POST, its own end of the connection is closed at once, and the answer is
;; what has come when the server closes the other. Arguments: the base URL, the text. Prints "offset length replacement".
(require 'json)
(require 'url-parse)
(require 'url-util)

(let* ((url (url-generic-parse-url (pop command-line-args-left)))
       (form (url-build-query-string `(("language" "en-US") ("text" ,(pop command-line-args-left)))))
       (answer (generate-new-buffer " *answer*"))
       (coding-system-for-write 'binary)
       (coding-system-for-read 'utf-8-unix)
       (server (open-network-stream "check" answer (url-host url) (url-port url))))
  (set-process-sentinel server #'ignore)
  (process-send-string server (concat "POST /v2/check HTTP/1.1\r\nHost: " (url-host url) "\r\n"
                                      (format "Content-length: %d\r\n" (length form))
                                      "Content-Type: application/x-www-form-urlencoded\r\n\r\n" form))
  (process-send-eof server)
  (while (process-live-p server) (accept-process-output server 1))
  (with-current-buffer answer
    (goto-char (point-min))
    (unless (looking-at "HTTP/1\\.1 200 ") (error "%s" (buffer-string)))
    (re-search-forward "^Content-Type: application/json\r?$")
    (re-search-forward "^\r?\n")
    (mapc (lambda (match)
            (let-alist match
              (princ (format "%d %d %s\n" .offset .length (alist-get 'value (aref .replacements 0))))))
          (alist-get 'matches (json-read)))))
