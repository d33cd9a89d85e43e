"""What the reviews of an earlier commit found, and the command that shows that each fault was there."""
