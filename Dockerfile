# The prober, without the embedded Postgres: it wants a server's URL in DATABASE_URL. See compose.yaml.
FROM rust:1.95.0-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package canary-gen \
 && cargo build --release --locked --package prober --no-default-features

FROM debian:12.11-slim
# Authorities for endpoints with TLS; curl for the health check.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/prober prober \
 && install --directory --owner=prober --mode=0700 /var/lib/prober
COPY --from=build /src/target/release/prober /src/target/release/canary-gen /usr/local/bin/
USER prober
WORKDIR /var/lib/prober
EXPOSE 9797
# Long enough for the schema to be brought up to date.
HEALTHCHECK --interval=10s --timeout=5s --start-period=2m \
  CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:9797/-/healthy"]
ENTRYPOINT ["prober"]
