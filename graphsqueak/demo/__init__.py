"""The demo: a study of the shipped mails, and the page that shows it."""
