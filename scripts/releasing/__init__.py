"""What release.py puts together: each module makes one kind of thing."""
