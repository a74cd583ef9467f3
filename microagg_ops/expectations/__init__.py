"""Great Expectations expectations, one file each."""
