"""The addresses of the admin. This module is imported with the first of them, see lib/late_urls.py."""

from django.contrib import admin

from elicit_flows.admin import registry  # noqa: F401  it registers the pages

urlpatterns = admin.site.get_urls()
