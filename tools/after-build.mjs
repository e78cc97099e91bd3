// Copies what the compiled tree reads beside itself: CRDs and SQL migrations.
import { cpSync, existsSync } from 'node:fs';

for (const [from, to] of [['prisma/migrations', 'dist/prisma/migrations'], ['helm/spoke/crds', 'dist/helm/spoke/crds'], ['libs/contracts/graphql', 'dist/libs/contracts/graphql']]) {
  if (existsSync(from)) cpSync(from, to, { recursive: true });
}
