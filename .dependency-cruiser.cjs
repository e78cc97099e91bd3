/** The second net under the ESLint walls: module graph rules over real resolution (docs/architecture.md). */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', comment: 'Split the concept or invert the dependency.', from: {}, to: { circular: true } },
    {
      name: 'domain-is-pure', severity: 'error', comment: 'libs/domain imports libs/domain only: no npm, no node:.',
      from: { path: '^libs/domain/', pathNot: '\\.spec\\.ts$' }, to: { pathNot: '^libs/domain/' },
    },
    {
      name: 'ir-renderers-apart', severity: 'error', comment: 'No renderer reads another; the RoutingPlan is the only seam.',
      from: { path: '^libs/domain/(xds-snapshot|nft-ruleset|dns-records)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/domain/(xds-snapshot|nft-ruleset|dns-records)/', pathNot: '^libs/domain/$1/' },
    },
    { name: 'libs-not-to-apps', severity: 'error', from: { path: '^libs/' }, to: { path: '^(apps|test)/' } },
    {
      name: 'app-not-to-other-app', severity: 'error', comment: 'ADR 0006: only the CLI composes hub and worker.',
      from: { path: '^apps/([^/]+)/', pathNot: '^apps/cli/' }, to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    { name: 'cli-by-front-door', severity: 'error', from: { path: '^apps/cli/' }, to: { path: '^apps/(hub|worker|spoke)/', pathNot: '^apps/(hub|worker)/src/index\\.ts$' } },
    {
      name: 'adapter-not-to-other-adapter', severity: 'error',
      from: { path: '^libs/adapters/([^/]+)/', pathNot: '\\.spec\\.ts$' }, to: { path: '^libs/adapters/', pathNot: '^libs/adapters/$1/' },
    },
    {
      name: 'front-door', severity: 'error', comment: 'Import a lib by its index.',
      from: { path: '^(apps|libs)/([^/]+)/([^/]+)/' },
      to: { path: '^libs/(domain|adapters)/[^/]+/src/(?!index\\.ts$)', pathNot: '^libs/$2/$3/' },
    },
    {
      name: 'testing-only-from-specs', severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '(\\.(spec|fixture)\\.ts$)|(^libs/testing/)' }, to: { path: '^libs/testing/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(generated|planted)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['source', 'import', 'node', 'default', 'types'] },
  },
};
