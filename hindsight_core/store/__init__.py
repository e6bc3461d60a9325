"""What was learned, kept in Qdrant."""
