# cortex alone, linked to no library. Run it on a checkout as its owner:
#
#   docker build -t cortex .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/workspace" -e CORTEX_STORE=/workspace/.cortex/store cortex build '//...'
#
# Commands of a workspace need their programs in the image; they run under Landlock, or with `--security-opt seccomp=unconfined` in a namespace.
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN scripts/dist.sh >/tmp/archive \
 && mkdir /unpacked && tar -xzf "$(cat /tmp/archive)" -C /unpacked --strip-components=1

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*
COPY --from=build /unpacked/cortex /usr/local/bin/cortex
WORKDIR /workspace
ENTRYPOINT ["cortex"]
