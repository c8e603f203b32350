# The shop in one image, CPU only, below 1 GB, without a browser.
#   docker build -t errands .
#   docker run --rm errands                                  # the demo
#   docker run --rm -p 8000:8000 -v errands:/data errands serve
# What visitors do and the admin's account stay in the volume; the admin's password is in the log of
# the first start, unless ERRANDS_ADMIN_PASSWORD says one. Environments for trainers elsewhere take
# whoever knows the token: -e ERRANDS_TOKEN=... errands serve --environments
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md constraints.txt ./
COPY src src
RUN python -m venv /opt/errands \
 && /opt/errands/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve]' \
 && find /opt/errands -depth -type d \( -name tests -o -name __pycache__ \) -path '*site-packages*' -exec rm -rf {} +

FROM python:3.12-slim
RUN useradd --create-home shopper && mkdir /data && chown shopper /data
COPY --from=build /opt/errands /opt/errands
# In a container 127.0.0.1 is the container's own: who may come in is what `docker run -p` says.
ENV PATH=/opt/errands/bin:$PATH ERRANDS_HOME=/home/shopper/errands ERRANDS_HOST=0.0.0.0 PYTHONUNBUFFERED=1
USER shopper
WORKDIR /data
# The demo catalogue is made once, here.
RUN errands search "warm up" > /dev/null
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["errands"]
CMD ["demo"]
