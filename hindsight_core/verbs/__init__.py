"""What each verb of the facade does, once for sync and async."""
