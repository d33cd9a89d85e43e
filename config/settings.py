"""Every setting, in one file. The defaults are the embedded shape: SQLite, no Redis, worker inside the server."""

from __future__ import annotations

import base64
import os
import resource
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kombu.entity import Queue

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

DEBUG = env.flag("ELICIT_DEBUG")
ELICIT_ALLOW_LOOPBACK = env.flag("ELICIT_ALLOW_LOOPBACK")
ELICIT_PUBLIC_URL = env.origin("ELICIT_PUBLIC_URL", "http://127.0.0.1:8000", allow_http=ELICIT_ALLOW_LOOPBACK)
ELICIT_MAX_WAIT = env.number("ELICIT_MAX_WAIT", 50, low=1, high=3600)
# 1,000 descriptors are kept for everything that is not a waiting request: API calls, database, files.
_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
ELICIT_MAX_WAITERS = env.number("ELICIT_MAX_WAITERS", max(100, _descriptors - 1000), low=1, high=1_000_000)
ELICIT_MAX_WAITERS_PER_AGENT = env.number(
    "ELICIT_MAX_WAITERS_PER_AGENT", max(1, int(ELICIT_MAX_WAITERS * 0.8)), low=1, high=1_000_000
)
_catalogue = env.text("ELICIT_CATALOGUE")
ELICIT_CATALOGUE = Path(_catalogue) if _catalogue else None  # a folder of the operator's own entries
# Days. An event has 75 hours to be delivered and read.
ELICIT_KEEP_EVENTS = env.number("ELICIT_KEEP_EVENTS", 90, low=4, high=36500)
ELICIT_KEEP_DELIVERIES = env.number("ELICIT_KEEP_DELIVERIES", 30, low=4, high=36500)
ELICIT_KEEP_INBOUND = env.number("ELICIT_KEEP_INBOUND", 30, low=4, high=36500)  # a provider may send one again
ELICIT_KEEP_ELICITATIONS = env.number("ELICIT_KEEP_ELICITATIONS", 90, low=1, high=36500)
ELICIT_KEEP_USES = env.number("ELICIT_KEEP_USES", 365, low=1, high=36500)
ELICIT_KEEP_CONNECTIONS = env.number("ELICIT_KEEP_CONNECTIONS", 365, low=1, high=36500)  # that ended
# Operators show a second factor, but where everything is on one machine for development.
ELICIT_ADMIN_SECOND_FACTOR = env.flag("ELICIT_ADMIN_SECOND_FACTOR", default=not (DEBUG or ELICIT_ALLOW_LOOPBACK))
ELICIT_LOG_REQUESTS = env.flag("ELICIT_LOG_REQUESTS")
env.installed("OTEL_EXPORTER_OTLP_ENDPOINT", "opentelemetry.sdk", "elicit-flows[otel]")
SERVICE_NAME = "Elicit Flows"

SECRET_KEY = env.kept("SECRET_KEY", VAR_DIR / "secret.key", env.new_secret())
SECRET_KEY_FALLBACKS = [key for key in (env.text("SECRET_KEY_FALLBACKS") or "").split(",") if key]
ELICIT_VAULT_KEYS = env.kept(
    "ELICIT_VAULT_KEYS", VAR_DIR / "vault.keys", "k1:" + base64.b64encode(os.urandom(32)).decode()
)
# What the services need that can wrap its keys, see elicit_flows/lib/kms. AWS's library reads its own variables.
ELICIT_KMS: dict[str, dict[str, str | None]] = {
    "vault": {
        "address": env.text("VAULT_ADDR"),
        "token": env.text("VAULT_TOKEN"),
        "namespace": env.text("VAULT_NAMESPACE"),
        "ca": env.text("VAULT_CACERT"),
    },
}

DATABASES = {"default": env.database("DATABASE_URL", "sqlite:///var/elicit.sqlite3", BASE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL")
CACHES: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if REDIS_URL:
    CACHES["default"] = {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 1, "SOCKET_TIMEOUT": 1},
    }

CELERY_BROKER_URL = env.text("CELERY_BROKER_URL", REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # its logs are ours: LOGGING below
# A task is a hint and needs no acknowledgement: what one would have done is found in the rows by the next. Celery's
# worker ends, too, when Redis goes away while a message is unacknowledged (kombu 5.7, restore_unacked).
CELERY_TASK_QUEUES = [Queue("celery", no_ack=True)]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Publishing is a hint, never worth waiting for: the rows are the truth and beat finds what a hint missed.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 5}
SWEEP_SECONDS = 5.0  # from one look at what time has made due to the next, here and in the embedded worker
CELERY_BEAT_SCHEDULE = {
    "tick": {"task": "elicit_flows.tasks.tick", "schedule": SWEEP_SECONDS, "options": {"expires": 10}},
    "refresh": {"task": "elicit_flows.tasks.refresh", "schedule": SWEEP_SECONDS, "options": {"expires": 10}},
    "poll": {"task": "elicit_flows.tasks.poll", "schedule": 2.0, "options": {"expires": 4}},
    "purge": {"task": "elicit_flows.tasks.purge", "schedule": 3600.0},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

_host = urlsplit(ELICIT_PUBLIC_URL).hostname or ""
ALLOWED_HOSTS = [f"[{_host}]" if ":" in _host else _host, "127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "elicit_flows.apps.ElicitFlowsConfig",
    "elicit_flows.admin.apps.OperatorsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "elicit_flows.web.logged.Logged",
    "elicit_flows.web.middleware.Headers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "elicit_flows.web.middleware.SameSite",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("UserAttributeSimilarityValidator", {}),
    )
]
ROOT_URLCONF = "config.urls"
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
                "elicit_flows.web.context.service",
            ]
        },
    }
]

# Cookies. __Host- needs Secure, so it needs https; Lax still lets the provider's redirect bring the session back.
_https = ELICIT_PUBLIC_URL.startswith("https:")
_prefix = "__Host-" if _https else ""
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = f"{_prefix}sessionid"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_NAME = f"{_prefix}csrftoken"
# The admin's messages: a cookie of their own would lack the prefix.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = _https
CSRF_FAILURE_VIEW = "elicit_flows.web.problems.csrf_failure"
LANGUAGE_COOKIE_HTTPONLY = True

SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SECURE_REFERRER_POLICY = "no-referrer"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# X-Frame-Options comes from web.middleware.Headers, on every answer; TLS ends at the proxy, which owns the redirect.
SILENCED_SYSTEM_CHECKS = ["security.W002", "security.W008"]
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "botocore": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
    },
}
