"""Pages of logging in, the profile, users of the studio, and members of a project."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.db.models import Count, F
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.accounts import services
from webapp.accounts.access import project_for, require_site_admin
from webapp.accounts.forms import LoginForm, MemberForm, NameForm, PasswordForm, UserForm
from webapp.accounts.models import Membership, User
from webapp.accounts.pages import changed, page, post_only, wants_part
from webapp.accounts.permissions import ROLE_WORDS, ROLES
from webapp.lib.errors import Refused
from webapp.library.models import Project

PAGE_SIZE = 200
NO_PASSWORD = 'You came in by a link that works once. <a href="{}#password-title">Set a password</a> to come back.'

# ---------------------------------------------------------------------------------------------------------------------
# Logging in and out


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def log_in(request: HttpRequest) -> HttpResponse:
    if wants_part(request):  # htmx was led here from a page whose session is over: the form has no place in it
        return JsonResponse({"error": "You are no longer logged in. Load the page again to log in."}, status=401)
    after = _own_address(request, request.POST.get("next") or request.GET.get("next", ""))
    if request.user.is_authenticated and request.method != "POST":
        return HttpResponseRedirect(after)
    form = LoginForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            user = services.check_password(request=request, **form.cleaned_data)
        except services.TooManyFailures as failures:
            form.add_error(None, failures.sentence)
            status = 429
        else:
            if user is not None:
                login(request, user)
                return HttpResponseRedirect(after)
            form.add_error(None, "This name and password do not belong together, or the account is deactivated.")
            status = 401
    return render(request, "accounts/login.html", {"form": form, "next": after}, status=status)


def _own_address(request: HttpRequest, wanted: str) -> str:
    """Where to go after the login: an address of this studio, never another site's."""
    fine = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if fine else reverse(settings.LOGIN_REDIRECT_URL)


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("login")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET only shows a button, so a mail scanner that opens the link does not burn it; the button's POST logs in and
    leads to the page of ours in `next`, else to the projects."""
    if request.method == "POST":
        user = services.use_link(token=token)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            if not user.has_usable_password():
                messages.warning(request, format_html(NO_PASSWORD, reverse("profile")))
            return HttpResponseRedirect(_own_address(request, request.GET.get("next", "")))
        return render(request, "accounts/link.html", {"person": None}, status=410)
    person = services.link_user(token)
    return render(request, "accounts/link.html", {"person": person}, status=200 if person else 410)


# ---------------------------------------------------------------------------------------------------------------------
# Profile


@login_required
@require_safe
def profile(request: HttpRequest) -> HttpResponse:
    return _profile(request)


def _profile(
    request: HttpRequest, name: NameForm | None = None, password: PasswordForm | None = None, status: int = 200
) -> HttpResponse:
    assert isinstance(request.user, User)
    context = {
        "name_form": name or NameForm(initial={"display_name": request.user.display_name}),
        "password_form": password or PasswordForm(request.user),
        "memberships": request.user.memberships.select_related("project").order_by("project__name"),
        "key_count": len(request.user.preferences.get("keys", {})),
    }
    return page(request, "accounts/profile.html", context, status=status)


@login_required
@post_only
def profile_name(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = NameForm(request.POST)
    if not form.is_valid():
        return _profile(request, name=form, status=422)
    services.set_display_name(user=request.user, display_name=form.cleaned_data["display_name"])
    messages.success(request, f"Others now see you as {request.user.shown_name}.")
    return redirect("profile")


@login_required
@sensitive_post_parameters()
@post_only
def profile_password(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return _profile(request, password=form, status=422)
    services.set_password(user=request.user, password=form.cleaned_data["new"])
    update_session_auth_hash(request, request.user)  # this session stays, every other one ends
    messages.success(request, "The password is set. Sessions in other browsers have ended.")
    return redirect("profile")


@login_required
@post_only
def profile_keys(request: HttpRequest) -> HttpResponse:
    """Back to the default keys of the workspace."""
    assert isinstance(request.user, User)
    services.set_preferences(user=request.user, changes={"keys": {}})
    messages.success(request, "The workspace has its default keys again.")
    return redirect("profile")


# ---------------------------------------------------------------------------------------------------------------------
# Users of the studio


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def users(request: HttpRequest) -> HttpResponse:
    require_site_admin(request.user)
    if request.method != "POST":
        return _users(request, UserForm())
    form = UserForm(request.POST)
    if form.is_valid():
        try:
            user, token = services.create_user(**form.cleaned_data)
        except Refused as refused:
            form.add_error(refused.field or None, refused.sentence)
        else:
            return _users(request, UserForm(), fresh=user, token=token)
    return _users(request, form, status=422)


@login_required
@post_only
def user_change(request: HttpRequest, user_id: int) -> HttpResponse:
    require_site_admin(request.user)
    user = get_object_or_404(User, id=user_id)
    action = request.POST.get("action")
    try:
        if action == "link":
            if not user.is_active:
                raise Refused(f"{user.shown_name} is deactivated; activate the account first.")
            return _users(request, UserForm(), fresh=user, token=services.make_link(user=user))
        if action in ("activate", "deactivate"):
            services.set_active(user=user, active=action == "activate")
        elif action in ("admin", "no-admin"):
            services.set_site_admin(user=user, site_admin=action == "admin")
        else:
            raise Refused("There is no such action.")
    except Refused as refused:
        messages.error(request, refused.sentence)
        return _users(request, UserForm(), status=422)
    words = {
        "activate": "is active again",
        "deactivate": "is deactivated and cannot log in any more",
        "admin": "is a site admin now",
        "no-admin": "is not a site admin any more",
    }
    messages.success(request, f"{user.shown_name} {words[action]}.")
    return changed(request, "accounts/users_list.html", _users_context(request), back=reverse("users"))


def _users(
    request: HttpRequest, form: UserForm, *, fresh: User | None = None, token: str = "", status: int = 200
) -> HttpResponse:
    link = request.build_absolute_uri(reverse("login_link", args=[token])) if token else ""
    context = _users_context(request) | {"form": form, "fresh": fresh, "link": link}
    if wants_part(request) and not form.errors:
        return page(request, "accounts/users_list.html", context | {"swapped": True}, status=status)
    return page(request, "accounts/users.html", context, status=status)


def _users_context(request: HttpRequest) -> dict[str, object]:
    wanted = request.GET.get("q", "").replace("\x00", "").strip()[:100]
    found = User.objects.annotate(projects=Count("memberships"))
    if wanted:
        found = found.filter(username__icontains=wanted) | found.filter(display_name__icontains=wanted)
    return {"people": found.order_by(F("is_active").desc(), "username")[:PAGE_SIZE], "q": wanted, "limit": PAGE_SIZE}


# ---------------------------------------------------------------------------------------------------------------------
# Members of a project


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, "manage_members" if request.method == "POST" else "view")
    if request.method != "POST":
        return _members(request, project, MemberForm())
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            membership = services.add_member(project=project, **form.cleaned_data)
        except Refused as refused:
            form.add_error(refused.field or None, refused.sentence)
        else:
            messages.success(request, f"{membership.user.shown_name} is a member now, as {membership.role}.")
            return _members(request, project, MemberForm()) if wants_part(request) else redirect("members", slug)
    return _members(request, project, form, status=422)


@login_required
@post_only
def member_change(request: HttpRequest, slug: str, member_id: UUID) -> HttpResponse:
    project = project_for(request.user, slug, "manage_members")
    membership = Membership.objects.select_related("user").filter(project=project, id=member_id).first()
    if membership is None:
        raise Http404("There is no such member.")
    name, status = membership.user.shown_name, 200
    try:
        if request.POST.get("action") == "remove":
            services.remove_member(membership=membership)
            messages.success(request, f"{name} is not a member any more. What they marked stays.")
        else:
            services.change_role(membership=membership, role=request.POST.get("role", ""))
            messages.success(request, f"{name} is {membership.role} now.")
    except Refused as refused:
        messages.error(request, refused.sentence)
        status = 422
    if wants_part(request) or status != 200:
        return _members(request, project, MemberForm(), status=status)
    return redirect("members", slug)


def _members(request: HttpRequest, project: Project, form: MemberForm, status: int = 200) -> HttpResponse:
    everybody = project.memberships.select_related("user").order_by("-role", "user__username")
    ranked = sorted(everybody, key=lambda m: (-ROLES.index(m.role), m.user.username))
    context = {"members": ranked, "form": form, "roles": [(r, ROLE_WORDS[r]) for r in reversed(ROLES)]}
    part = wants_part(request)
    context["swapped"] = part
    template = "accounts/members_body.html" if part else "accounts/members.html"
    return page(request, template, context, project=project, status=status)
