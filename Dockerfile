# The image that deploy/compose.yaml builds: web, workers and commands alike.
FROM python:3.12-slim
WORKDIR /opt/sightline
COPY requirements requirements
RUN pip install --no-cache-dir -r requirements/run.lock
COPY . .
RUN pip install --no-cache-dir --no-deps . && useradd --system --home /data sightline && mkdir /data && chown sightline /data
USER sightline
