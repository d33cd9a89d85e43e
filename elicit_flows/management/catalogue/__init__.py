"""What ``manage.py providers`` does beyond printing."""
