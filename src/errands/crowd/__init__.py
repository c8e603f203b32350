"""What people do on the website, as data: who they are, what they were given, what came of it."""
