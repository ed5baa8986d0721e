"""Settings, all from the environment. Without any, the studio is the embedded one of its data folder.

SIGHTLINE_DATA         data folder (default: var in the checkout)
DATABASE_URL           an external PostgreSQL instead of the embedded one
BROKER_URL             an external Redis, Valkey or RabbitMQ instead of the embedded Valkey
STORAGE_URL            file:///folder or s3://bucket/prefix?endpoint=URL instead of DATA/media
SIGHTLINE_SECRET_KEY   signing key; required, and checked for strength, when SIGHTLINE_PRODUCTION is set
SIGHTLINE_PRODUCTION   1: secure cookies, host names from SIGHTLINE_HOSTS, no debug
SIGHTLINE_HOSTS        comma-separated host names that may be asked for
SIGHTLINE_DB_POOL      database connections of one process (default: 16 for pages, else no pool)
SIGHTLINE_LOCK_WAIT    seconds that a request waits for rows somebody else holds (default: 5 for pages, else for ever)
SIGHTLINE_DEVICES      what gpu and train jobs lease on this machine, such as cuda:0,cuda:1 (default: its GPUs)
SIGHTLINE_HEARTBEAT_LIMIT   seconds after which a silent job is taken from its worker (default 120)
SIGHTLINE_POSTGRES     folder of other PostgreSQL programs than the wheel's
SIGHTLINE_VALKEY       another Valkey or Redis server program than the wheel's
SIGHTLINE_WEIGHTS      folder of the converted model weights (default: in the user's cache folder)
SIGHTLINE_MODELS       folder whose subfolders are base models for training and evaluation (besides DATA/models)
SIGHTLINE_ACCEL        nginx location that serves media by X-Accel-Redirect (files only)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import environ
import pghistory
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from webapp.lib import environment
from webapp.lib.datafolder import data_folder, secret_key, socket_folder
from webapp.lib.storage_url import storage_settings

BASE_DIR = Path(__file__).resolve().parent.parent
DATA = data_folder()
SOCKETS = socket_folder(DATA)
env = environ.Env()

PRODUCTION = env.bool("SIGHTLINE_PRODUCTION", default=False)
DEBUG = env.bool("SIGHTLINE_DEBUG", default=False) and not PRODUCTION
SECRET_KEY = os.environ.get("SIGHTLINE_SECRET_KEY", "")
if not SECRET_KEY:
    if PRODUCTION:
        raise ImproperlyConfigured("SIGHTLINE_SECRET_KEY is not set; production needs a key of its own.")
    SECRET_KEY = secret_key(DATA)
if len(SECRET_KEY) < 40 or len(set(SECRET_KEY)) < 10:
    raise ImproperlyConfigured("SIGHTLINE_SECRET_KEY is too weak: at least 40 characters, made at random.")
ALLOWED_HOSTS = env.list("SIGHTLINE_HOSTS", default=[] if PRODUCTION else ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS] if PRODUCTION else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_htmx",
    "pgtrigger",
    "pghistory",
    "csp",
    "webapp.accounts",
    "webapp.library",
    "webapp.tracks",
    "webapp.events",
    "webapp.bench",
    "webapp.audit",
    "webapp.runs",
    "webapp.jobs",
    "webapp.studio",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "webapp.accounts.failures.Busy",
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "webapp.accounts.context.place",
            ]
        },
    }
]

# Database: DATABASE_URL, else the embedded cluster on a unix socket
if os.environ.get("DATABASE_URL"):
    DATABASES: dict[str, dict[str, Any]] = {"default": environment.postgres("DATABASE_URL")}
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "sightline",
            "USER": "sightline",
            "HOST": str(SOCKETS),
        }
    }
# A pool where every request may run in another thread (webapp/asgi.py asks for it); none for workers, which fork
POOL = environment.whole_number("SIGHTLINE_DB_POOL", default=0)
if POOL:
    DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {"min_size": 1, "max_size": POOL, "timeout": 10}
# Requests that wait for a lock hold one of the few threads that answer them (webapp/asgi.py sets it); workers wait
LOCK_WAIT_S = environment.whole_number("SIGHTLINE_LOCK_WAIT", default=0)
if LOCK_WAIT_S:
    options = DATABASES["default"].setdefault("OPTIONS", {})
    options["options"] = f"{options.get('options', '')} -c lock_timeout={LOCK_WAIT_S}s".strip()
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Background work (see workers/app.py)
OWN_BROKER = f"redis+socket://{quote(str(SOCKETS / 'valkey.sock'), safe='/')}"
CELERY_BROKER_URL = environment.broker("BROKER_URL") or OWN_BROKER
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
HEARTBEAT_LIMIT_S = environment.whole_number("SIGHTLINE_HEARTBEAT_LIMIT", default=120)
# The visibility timeout must exceed the longest training run: a shorter one runs a task twice
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 43_200,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # A web request that queues a job waits this little for a broker that is away (the reaper sends it later)
    "max_retries": 2,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.2,
}

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "projects"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
SESSION_COOKIE_NAME = "sightline"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "webapp.accounts.failures.csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# No inline script, no eval, nothing from elsewhere
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "media-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
        "manifest-src": [SELF],
    }
}

STORAGES = {
    "default": storage_settings(os.environ.get("STORAGE_URL"), DATA / "media"),
    "staticfiles": {
        "BACKEND": "webapp.lib.static.HashedStaticFiles"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
STATIC_URL = "/static/"
STATIC_ROOT = env.str("SIGHTLINE_STATIC", default=str(DATA / "static"))
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = DEBUG
MEDIA_ACCEL = env.str("SIGHTLINE_ACCEL", default="")
# Folders whose subfolders are models: training and evaluation take one by its name, never by a typed path
BASE_MODELS = [Path(os.environ["SIGHTLINE_MODELS"])] if os.environ.get("SIGHTLINE_MODELS") else []
BASE_MODELS = [folder.expanduser().resolve() for folder in BASE_MODELS] + [DATA / "models"]

# Uploads arrive in pieces of at most this size (a proxy that limits bodies needs only this much)
UPLOAD_PIECE_BYTES = 8 * 1024 * 1024
UPLOAD_LIMIT_BYTES = environment.whole_number("SIGHTLINE_UPLOAD_LIMIT", default=64 * 10**9)
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {"webapp": {"level": "INFO"}, "workers": {"level": "INFO"}},
}

# History: every insert, update and delete of curated rows, by database triggers
PGHISTORY_DEFAULT_TRACKERS = (pghistory.InsertEvent(), pghistory.UpdateEvent(), pghistory.DeleteEvent())
