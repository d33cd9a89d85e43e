"""The addresses of the gallery, which config/urls.py adds under development settings."""

from __future__ import annotations

from django.urls import path

from gallery import views

urlpatterns = [
    path("_gallery", views.index),
    path("_gallery/<slug:slug>", views.show),
]
