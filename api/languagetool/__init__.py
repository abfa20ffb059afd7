"""The HTTP API of LanguageTool, version 2, for editors that know it; POST /correct imports nothing of this."""
