"""How much an agent may ask of one person, on the agent's page."""

from __future__ import annotations

from django import forms
from django.contrib.admin import TabularInline
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.fields import rule
from elicit_flows.configure.spending import MAX_PER_DAY, checked_currency
from elicit_flows.kinds.payment.params import MAX_AMOUNT
from elicit_flows.models import SpendLimit


class LimitForm(forms.ModelForm):  # type: ignore[type-arg]
    currency = forms.CharField(
        max_length=3,
        validators=[rule(checked_currency)],
        help_text=_("Lower case. Currencies without a limit here are refused."),
    )
    per_payment = forms.IntegerField(required=False, min_value=0, max_value=MAX_AMOUNT, help_text=_("In minor units."))
    per_day = forms.IntegerField(required=False, min_value=0, max_value=MAX_PER_DAY, help_text=_("In minor units."))


class Limits(TabularInline):  # type: ignore[type-arg]
    model = SpendLimit
    form = LimitForm
    extra = 0
    verbose_name = _("spend limit for each person")
    verbose_name_plural = _("spend limits for each person")
