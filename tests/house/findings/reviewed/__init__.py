"""Tests for the product of bb257c4, written with its own test support. Each fails there for what a review found."""
