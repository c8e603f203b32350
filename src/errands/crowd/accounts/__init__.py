"""Who works here: accounts, qualifications, how well people do."""
