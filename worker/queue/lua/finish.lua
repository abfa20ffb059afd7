close()
return duplicates
