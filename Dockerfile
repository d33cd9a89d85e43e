# syntax=docker/dockerfile:1
# The digest decides which image it is, on every architecture; the tag says it for people. Both stages have the same one.
FROM python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv --without-pip /venv
RUN groupadd --gid 10001 elicit \
    && useradd --uid 10001 --gid elicit --no-create-home --home-dir /app --shell /usr/sbin/nologin elicit
WORKDIR /app
COPY requirements.txt requirements-extras.txt ./
# EXTRAS=1 adds what AWS KMS and traces need.
ARG EXTRAS=
RUN pip --python /venv/bin/python install --require-hashes --only-binary=:all: --no-compile -r requirements.txt
RUN test -z "$EXTRAS" \
    || pip --python /venv/bin/python install --require-hashes --only-binary=:all: --no-compile -r requirements-extras.txt
# .dockerignore says what this is.
COPY . .
# The image may be read-only, so Python must find what it would compile.
RUN rm requirements*.txt && python -m compileall -q -j 0 /venv/lib /app && mkdir -p /state && mkdir -m 700 /state/var

FROM python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
# The user's name. Without one Celery warns at every start, as if the user were root.
COPY --from=build /etc/passwd /etc/group /etc/
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ELICIT_ALIVE_FILE=/tmp/alive
COPY --from=build /venv /venv
COPY --from=build /app /app
# /app/var, for the user below. Only what is within the folder that is copied gets the owner, not the folder itself.
COPY --from=build --chown=10001:10001 /state /app
WORKDIR /app
# A number, so that Kubernetes sees that it is not root.
USER 10001:10001
EXPOSE 8000
# For a web process. docker-compose.yml has others for the workers.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-m", "elicit_flows.lib.healthy"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
