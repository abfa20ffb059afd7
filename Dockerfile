# One image for api, worker and dashboard. No BuildKit-only syntax, so that any Docker builds it.
FROM python:3.11-slim AS build
RUN python3 -m venv /opt/miniserve
# The dependencies change seldom: a layer of their own, so that a change of code does not fetch them again.
COPY pyproject.toml LICENSE README.md /src/
RUN mkdir /src/api /src/ops /src/scheduler /src/worker \
 && for package in api ops scheduler worker; do touch /src/$package/__init__.py; done \
 && /opt/miniserve/bin/pip install --quiet --no-cache-dir --disable-pip-version-check '/src[dashboard]' \
 && /opt/miniserve/bin/pip uninstall --quiet --yes miniserve \
 && rm -rf /src/*
COPY pyproject.toml LICENSE README.md /src/
COPY api /src/api
COPY ops /src/ops
COPY scheduler /src/scheduler
COPY worker /src/worker
RUN /opt/miniserve/bin/pip install --quiet --no-cache-dir --disable-pip-version-check '/src[dashboard]'

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent --shell /usr/sbin/nologin miniserve
COPY --from=build /opt/miniserve /opt/miniserve
ENV PATH=/opt/miniserve/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER miniserve
WORKDIR /tmp
EXPOSE 8000
CMD ["miniserve", "api", "--host", "0.0.0.0"]
