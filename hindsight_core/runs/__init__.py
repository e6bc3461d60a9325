"""What happened: recording, journaling and working through finished runs."""
