"""From mails to points."""
