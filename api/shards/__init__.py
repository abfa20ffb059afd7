"""Several Redis in the place of one (MINISERVE_REDIS_URL is a list). Who has one loads nothing of this."""
