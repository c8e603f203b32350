"""What a form page is to an agent: fields, the driver protocol, comparing two drivers."""
