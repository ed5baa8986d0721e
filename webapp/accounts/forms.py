"""Forms of logins, users, members and the profile."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password

from webapp.accounts.models import User
from webapp.accounts.permissions import ROLES


class LoginForm(forms.Form):
    username = forms.CharField(
        max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        max_length=256, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class UserForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    display_name = forms.CharField(max_length=100, required=False, label="Name shown to others")
    site_admin = forms.BooleanField(
        required=False, label="Site admin", help_text="Manages users and every project of this studio."
    )


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(choices=[(r, r) for r in ROLES], initial="annotator")


class NameForm(forms.Form):
    display_name = forms.CharField(
        max_length=100, required=False, label="Name shown to others", help_text="Empty: your user name is shown."
    )


class PasswordForm(forms.Form):
    """A new password; the old one is asked for where there is one."""

    old = forms.CharField(
        label="Current password",
        strip=False,
        max_length=256,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        strip=False,
        max_length=256,
        help_text="At least 8 characters, not a common password, not like your name.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="New password again",
        strip=False,
        max_length=256,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        if not user.has_usable_password():
            del self.fields["old"]

    def clean_old(self) -> str:
        if not self.user.check_password(self.cleaned_data["old"]):
            raise forms.ValidationError("This is not your current password.")
        return str(self.cleaned_data["old"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        new = data.get("new")
        if new and data.get("again") is not None and new != data["again"]:
            self.add_error("again", "The two new passwords differ.")
        elif new:
            try:
                validate_password(new, self.user)
            except forms.ValidationError as error:
                self.add_error("new", error)
        return data
