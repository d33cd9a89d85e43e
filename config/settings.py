"""Every setting, in one file. The defaults are the embedded shape: SQLite, no Redis, worker inside the server."""

from __future__ import annotations

import base64
import os
import resource
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from config import env
from elicit_flows.job_table import EXPIRE, JOBS

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

DEBUG = env.flag("ELICIT_DEBUG")
ELICIT_ALLOW_LOOPBACK = env.flag("ELICIT_ALLOW_LOOPBACK")
# Every page with made-up contexts, for developers. The image does not have the folder.
ELICIT_GALLERY = (DEBUG or ELICIT_ALLOW_LOOPBACK) and (BASE_DIR / "gallery").is_dir()
ELICIT_PUBLIC_URL = env.origin("ELICIT_PUBLIC_URL", "http://127.0.0.1:8000", allow_http=ELICIT_ALLOW_LOOPBACK)
ELICIT_MAX_WAIT = env.number("ELICIT_MAX_WAIT", 50, low=1, high=3600)
# 1,000 file descriptors are left for everything that is not a waiting request: API calls, database, files.
_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
ELICIT_MAX_WAITERS = env.number("ELICIT_MAX_WAITERS", max(100, _descriptors - 1000), low=1, high=1_000_000)
# A tenth is left for the others when three agents use all of theirs.
ELICIT_MAX_WAITERS_PER_AGENT = env.number(
    "ELICIT_MAX_WAITERS_PER_AGENT", max(1, int(ELICIT_MAX_WAITERS * 0.3)), low=1, high=1_000_000
)
ELICIT_AGENT_REQUESTS_PER_MINUTE = env.number("ELICIT_AGENT_REQUESTS_PER_MINUTE", 6000, low=1, high=10_000_000)
ELICIT_AGENT_IN_FLIGHT = env.number("ELICIT_AGENT_IN_FLIGHT", 50, low=1, high=100_000)
# Calls of providers' APIs through this service: how many at once, bytes of each body, seconds.
ELICIT_PROXIED_CALLS = env.number("ELICIT_PROXIED_CALLS", 500, low=1, high=100_000)
ELICIT_PROXIED_CALLS_PER_AGENT = env.number("ELICIT_PROXIED_CALLS_PER_AGENT", 50, low=1, high=100_000)
ELICIT_PROXIED_MAX_BODY = env.number("ELICIT_PROXIED_MAX_BODY", 100_000_000, low=1, high=10_000_000_000)
ELICIT_PROXIED_SILENCE = env.number("ELICIT_PROXIED_SILENCE", 60, low=1, high=3600)
ELICIT_PROXIED_SECONDS = env.number("ELICIT_PROXIED_SECONDS", 600, low=1, high=86400)
_catalogue = env.text("ELICIT_CATALOGUE")
ELICIT_CATALOGUE = Path(_catalogue) if _catalogue else None  # a folder of the operator's own entries
# Days. The minimum is 4 because the delivery of an event is retried for 75 hours.
ELICIT_KEEP_EVENTS = env.number("ELICIT_KEEP_EVENTS", 90, low=4, high=36500)
ELICIT_KEEP_DELIVERIES = env.number("ELICIT_KEEP_DELIVERIES", 30, low=4, high=36500)
ELICIT_KEEP_INBOUND = env.number("ELICIT_KEEP_INBOUND", 30, low=4, high=36500)  # a provider may repeat one
ELICIT_KEEP_ELICITATIONS = env.number("ELICIT_KEEP_ELICITATIONS", 90, low=1, high=36500)
ELICIT_KEEP_USES = env.number("ELICIT_KEEP_USES", 365, low=1, high=36500)
ELICIT_KEEP_CALLS = env.number("ELICIT_KEEP_CALLS", 90, low=1, high=36500)
ELICIT_KEEP_CONNECTIONS = env.number("ELICIT_KEEP_CONNECTIONS", 365, low=1, high=36500)  # ended ones
# When a provider has refused a refresh this many times over this many hours, with an error code that we do not know,
# the grant is taken to be dead.
ELICIT_REFUSED_TRIES = env.number("ELICIT_REFUSED_TRIES", 5, low=1, high=1000)
ELICIT_REFUSED_HOURS = env.number("ELICIT_REFUSED_HOURS", 72, low=0, high=8784)
# Operators need a second factor, except in development on one machine.
ELICIT_ADMIN_SECOND_FACTOR = env.flag("ELICIT_ADMIN_SECOND_FACTOR", default=not (DEBUG or ELICIT_ALLOW_LOOPBACK))
# Only these proxies' X-Forwarded-For is believed: anybody else could evade the rate limits with one.
ELICIT_TRUSTED_PROXIES = env.networks("ELICIT_TRUSTED_PROXIES")
# Private networks that requests to providers, identity providers and webhook receivers may reach, and how.
ELICIT_ALLOWED_NETWORKS = env.allowed_networks("ELICIT_ALLOWED_NETWORKS")
ELICIT_EGRESS_PROXY = env.proxy("ELICIT_EGRESS_PROXY")
ELICIT_CA_FILE = env.authorities("ELICIT_CA_FILE")
# The mail server for notifications, and the address that they come from.
ELICIT_SMTP = env.smtp("ELICIT_SMTP_URL", password=env.text("ELICIT_SMTP_PASSWORD"))
ELICIT_EMAIL_FROM = env.sender("ELICIT_EMAIL_FROM", needed=ELICIT_SMTP is not None)
env.gone("FORWARDED_ALLOW_IPS", "ELICIT_TRUSTED_PROXIES")
ELICIT_AUDIT_LOG = env.audit_log("ELICIT_AUDIT_LOG", ELICIT_CA_FILE)
# If set, /metrics and /incidents are served here instead of on the public port.
ELICIT_METRICS_ADDRESS = env.address("ELICIT_METRICS_ADDRESS")
ELICIT_LOG_REQUESTS = env.flag("ELICIT_LOG_REQUESTS")
_OTEL = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
env.installed("OTEL_EXPORTER_OTLP_ENDPOINT", "opentelemetry.sdk", _OTEL)
SERVICE_NAME = "Elicit Flows"

SECRET_KEY = env.kept("SECRET_KEY", VAR_DIR / "secret.key", env.new_secret())
SECRET_KEY_FALLBACKS = [key.strip() for key in (env.text("SECRET_KEY_FALLBACKS") or "").split(",") if key.strip()]
ELICIT_VAULT_KEYS = env.kept(
    "ELICIT_VAULT_KEYS", VAR_DIR / "vault.keys", "k1:" + base64.b64encode(os.urandom(32)).decode()
)
# Credentials of the services that can wrap the vault keys, see elicit_flows/lib/kms. AWS's library reads its own.
ELICIT_KMS: dict[str, dict[str, str | None]] = {
    "vault": {
        "address": env.text("VAULT_ADDR"),
        "token": env.text("VAULT_TOKEN"),
        "namespace": env.text("VAULT_NAMESPACE"),
        "ca": env.text("VAULT_CACERT"),
    },
}

DATABASES = {
    "default": env.database(
        "DATABASE_URL", "sqlite:///var/elicit.sqlite3", BASE_DIR, password=env.text("DATABASE_PASSWORD")
    )
}
if not env.flag("ELICIT_PREPARED_STATEMENTS", default=True):
    env.prepare_nothing(DATABASES["default"])
# Seconds. A migration may run for as long as it needs, but it may not queue for a lock: others would wait behind it.
_statement = env.number("ELICIT_STATEMENT_TIMEOUT", 30, low=0, high=86400)
env.limit_sessions(
    DATABASES["default"],
    statement=0 if sys.argv[1:2] == ["migrate"] else _statement,
    lock=env.number("ELICIT_LOCK_TIMEOUT", 10, low=0, high=86400),
    idle=env.number("ELICIT_IDLE_TRANSACTION_TIMEOUT", 60, low=0, high=86400),
)
# Seconds after which an idle thread closes its connection.
ELICIT_DATABASE_IDLE = env.number("ELICIT_DATABASE_IDLE", 60, low=1, high=86400)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.redis("REDIS_URL", password=env.text("REDIS_PASSWORD"))
CACHES: dict[str, dict[str, Any]] = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if REDIS_URL:
    CACHES["default"] = {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"SOCKET_CONNECT_TIMEOUT": 1, "SOCKET_TIMEOUT": 1},
    }

CELERY_BROKER_URL = env.broker("CELERY_BROKER_URL", REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # its logs are ours: LOGGING below
CELERY_WORKER_REDIRECT_STDOUTS = False  # what is printed is not for the log, such as the audit log
# A task only wakes a thread of its process, see elicit_flows/jobs/tasks.py: threads of one process are enough.
CELERY_WORKER_POOL = "threads"
# A task only says that something may be due, so a lost one costs nothing: the next one finds the same rows. Without
# acknowledgements the worker also survives a lost Redis connection, which kombu 5.7 does not otherwise
# (restore_unacked). The queues are in celery.py.
CELERY_TASK_ROUTES = {job.task: {"queue": job.name} for job in JOBS}
CELERY_TASK_DEFAULT_QUEUE = EXPIRE.name
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Publishing is never worth waiting for: beat's next task finds what a lost one would have found.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 5}
# By itself Celery checks no certificate of a rediss:// address, and not the name in that of an amqps:// one. What the
# address says of them, as in ?ssl_ca_certs=/ca.pem, counts instead. A list of addresses (;) has no one name.
_broker = urlsplit((CELERY_BROKER_URL or "").partition(";")[0])
_tls: dict[str, dict[str, str | None]] = {
    "rediss": {"ssl_cert_reqs": "required"},
    "amqps": {} if ";" in (CELERY_BROKER_URL or "") else {"server_hostname": _broker.hostname},
}
CELERY_BROKER_USE_SSL = _tls.get(_broker.scheme, False)
JOB_SECONDS = {job.name: job.every for job in JOBS}  # between two looks for what is due
CELERY_BEAT_SCHEDULE = {job.name: {"task": job.task, "schedule": JOB_SECONDS[job.name]} for job in JOBS}
CELERY_BEAT_SCHEDULER = "config.broker:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

# A file that a worker or beat touches while it runs, for health checks: elicit_flows/lib/alive.py.
ELICIT_ALIVE_FILE = env.text("ELICIT_ALIVE_FILE")

_host = urlsplit(ELICIT_PUBLIC_URL).hostname or ""
# A proxy may pass on a Host without the port, or its own name for this server: forms of our own pages are accepted.
CSRF_TRUSTED_ORIGINS = [ELICIT_PUBLIC_URL]
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
    "elicit_flows.web.middleware.RequestLog",
    "elicit_flows.web.middleware.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "elicit_flows.web.middleware.ApiBypass",  # /v1 skips all that follow
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "elicit_flows.web.languages.Languages",
    "elicit_flows.web.middleware.SameSite",
    "elicit_flows.web.middleware.StorableText",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "elicit_flows.web.middleware.Views",
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
            ],
            # Not among the tags of people's pages, none of which marks text as safe (threat T52).
            "libraries": {"change_lists": "elicit_flows.admin.change_lists"},
        },
    }
]

# Cookies. The prefix __Host- needs https. With Lax the session cookie comes with the redirect back from a provider.
_https = ELICIT_PUBLIC_URL.startswith("https:")
_prefix = "__Host-" if _https else ""
SESSION_ENGINE = "elicit_flows.web.session_store"  # in the database, by the hash of the key
SESSION_COOKIE_NAME = f"{_prefix}sessionid"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_NAME = f"{_prefix}csrftoken"
# Django's cookie for messages would lack the prefix.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = _https
CSRF_FAILURE_VIEW = "elicit_flows.web.error_pages.csrf_failure"
LANGUAGE_COOKIE_NAME = f"{_prefix}language"
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SECURE = _https
ELICIT_TIMEZONE_COOKIE = f"{_prefix}timezone"  # a script of the pages writes it

SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SECURE_REFERRER_POLICY = "no-referrer"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# X-Frame-Options comes from web.middleware.SecurityHeaders, on every answer; TLS ends at the proxy, which redirects.
SILENCED_SYSTEM_CHECKS = ["security.W002", "security.W008"]
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600

LANGUAGES = [
    ("ar", "Arabic"), ("de", "German"), ("en", "English"), ("es", "Spanish"), ("fr", "French"), ("it", "Italian"),
    ("ja", "Japanese"), ("ko", "Korean"), ("nl", "Dutch"), ("pl", "Polish"), ("pt-br", "Brazilian Portuguese"),
    ("zh-hans", "Simplified Chinese"),
]  # fmt: skip
ELICIT_ADMIN_LANGUAGES = {"en", "de", "fr", "es"}
# For people whose browser asks for none of them. What is said to agents and in the log stays English.
ELICIT_LANGUAGE = env.one_of("ELICIT_LANGUAGE", "en", [code for code, _ in LANGUAGES])
LANGUAGE_CODE = "en"
# Django finds neither by itself: the first belongs to no app, and the app of the second is Django's own admin.
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "elicit_flows" / "admin" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "config.logs.LimitedHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "apprise": {"level": "CRITICAL"},  # it names addresses; notifications/sending.py says what became of a message
        "botocore": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
    },
}
