# One build, three images: `docker build --target hub|worker|spoke`.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim AS base
ENV NODE_ENV=production
WORKDIR /opt/spillway
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist

FROM base AS hub
USER node
EXPOSE 8080 8443
ENTRYPOINT ["node", "dist/apps/hub/src/main.js"]

FROM base AS worker
USER node
EXPOSE 9092
ENTRYPOINT ["node", "dist/apps/worker/src/main.js"]

# The node role writes nftables over netlink; the `nft` program is its fallback and what `diagnose` reads back with.
FROM base AS spoke
RUN apt-get update && apt-get install -y --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*
EXPOSE 9443 9090 9091 5353/udp 5353
ENTRYPOINT ["node", "dist/apps/spoke/src/main.js"]
