"""What create and fetch are measured against: two bare Django views behind the service's own server and middleware."""
