"""What Notify is measured against, each written the way that a good engineer would."""
