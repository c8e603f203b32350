# The shop in one image, CPU only, below 1 GB: docker build -t errands . && docker run --rm errands
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE CHANGELOG.md constraints.txt ./
COPY src src
RUN python -m venv /opt/errands \
 && /opt/errands/bin/pip install --no-cache-dir --constraint constraints.txt . \
 && find /opt/errands -depth -type d \( -name tests -o -name __pycache__ \) -path '*site-packages*' -exec rm -rf {} +

FROM python:3.12-slim
RUN useradd --create-home shopper
COPY --from=build /opt/errands /opt/errands
ENV PATH=/opt/errands/bin:$PATH ERRANDS_HOME=/home/shopper/errands PYTHONUNBUFFERED=1
USER shopper
WORKDIR /home/shopper
# The demo catalogue and the compiled search kernel are made once, here.
RUN errands search "warm up" > /dev/null
ENTRYPOINT ["errands"]
CMD ["demo"]
