import js from '@eslint/js';
import boundaries from 'eslint-plugin-boundaries';
import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';

/** One policy: files of element type `from` may import elements of the types `to`. */
const allow = (from, to) => ({ from: { element: { type: from } }, allow: { to: { element: { types: { anyOf: to } } } } });

const elements = [
  { type: 'domain', pattern: 'libs/domain/*', capture: ['lib'] },
  { type: 'ports', pattern: 'libs/ports' },
  { type: 'contracts', pattern: 'libs/contracts' },
  { type: 'platform', pattern: 'libs/platform' },
  { type: 'adapters', pattern: 'libs/adapters/*', capture: ['adapter'] },
  { type: 'testing', pattern: 'libs/testing' },
  { type: 'app', pattern: 'apps/*', capture: ['app'] },
  { type: 'test', pattern: 'test/*', capture: ['suite'] },
];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '**/generated/', '**/planted/', 'coverage/', 'helm/', '*.config.mjs', '*.config.ts', '.*.cjs'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { boundaries, jsdoc },
    settings: {
      'boundaries/elements': elements,
      'import/resolver': { typescript: { project: './tsconfig.json', conditionNames: ['source', 'types', 'import', 'node', 'default'] } },
    },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 12],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'no-console': 'error',
      'no-restricted-syntax': ['error', { selector: 'TSEnumDeclaration', message: 'Use an `as const` object or a string union.' }],
      'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'Only main.ts reads process.env (docs/architecture.md).' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/require-array-sort-compare': ['error', { ignoreStringArrays: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      'jsdoc/require-jsdoc': ['error', { publicOnly: true, require: { ClassDeclaration: true, FunctionDeclaration: true }, contexts: ['ExportNamedDeclaration > TSInterfaceDeclaration', 'ExportNamedDeclaration > TSTypeAliasDeclaration'] }],
      'boundaries/dependencies': ['error', {
        default: 'disallow',
        policies: [
          allow('domain', ['domain']),
          allow('ports', ['domain', 'ports']),
          allow('contracts', ['domain', 'contracts']),
          allow('platform', ['domain', 'ports', 'platform']),
          allow('adapters', ['domain', 'ports', 'contracts', 'platform']),
          { from: { element: { type: 'adapters' } }, allow: { to: { element: { type: 'adapters', captured: { adapter: '{{from.element.captured.adapter}}' } } } } },
          allow('app', ['domain', 'ports', 'contracts', 'platform', 'adapters']),
          { from: { element: { type: 'app' } }, allow: { to: { element: { type: 'app', captured: { app: '{{from.element.captured.app}}' } } } } },
          // ADR 0006: `spillway up` composes hub and worker in one process, through their front doors.
          { from: { element: { type: 'app', captured: { app: 'cli' } } }, allow: { to: { element: { type: 'app', captured: { app: 'hub' } } } } },
          { from: { element: { type: 'app', captured: { app: 'cli' } } }, allow: { to: { element: { type: 'app', captured: { app: 'worker' } } } } },
          allow('testing', ['domain', 'ports', 'contracts', 'platform', 'testing']),
          allow('test', ['domain', 'ports', 'contracts', 'platform', 'adapters', 'testing', 'app', 'test']),
        ],
      }],
    },
  },
  {
    files: ['libs/domain/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [{ regex: '^(?!\\.{1,2}/|#domain/)', message: 'Domain imports domain only.' }] }],
      'no-restricted-properties': ['error', { object: 'Date', property: 'now' }, { object: 'Math', property: 'random' }],
      'no-restricted-globals': ['error', 'setTimeout', 'setInterval', 'fetch', 'process', 'performance', 'console', 'crypto', 'Buffer'],
      'no-restricted-syntax': ['error', "NewExpression[callee.name='Date'][arguments.length=0]", 'AwaitExpression', 'TSEnumDeclaration'],
    },
  },
  {
    files: ['**/main.ts', 'test/**/*.ts', '**/*.spec.ts', 'libs/testing/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['apps/cli/**/*.ts', 'test/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['**/*.{spec,fixture}.ts', 'test/**/*.ts', 'libs/testing/**/*.ts'],
    rules: {
      'max-lines': 'off',
      'max-lines-per-function': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      'jsdoc/require-jsdoc': 'off',
      'boundaries/dependencies': 'off',
    },
  },
  { files: ['tools/**/*.mjs', 'tools/**/*.js'], languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly', setTimeout: 'readonly', clearTimeout: 'readonly' } } },
);
