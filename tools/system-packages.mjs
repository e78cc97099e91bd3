// Installs the Debian packages that real packets and real stores need, where that is possible (root, Linux, apt). Elsewhere
// it says what is missing and what will be skipped for it; the tests that need it skip loudly by the same rule.
import { spawnSync } from 'node:child_process';

const needed = [
  ['nft', 'nftables'],
  ['ip', 'iproute2'],
  ['nsenter', 'util-linux'],
  ['conntrack', 'conntrack'],
  ['redis-server', 'redis-server'],
  ['dig', 'bind9-dnsutils'],
];
const has = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const missing = () => needed.filter(([program]) => !has(program));

const packages = missing().map(([, name]) => name);
if (packages.length > 0 && process.platform === 'linux' && process.getuid?.() === 0 && has('apt-get')) {
  process.stderr.write(`installing ${packages.join(' ')}\n`);
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore' });
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
}
for (const [program, name] of missing()) process.stderr.write(`not installed: ${program} (package ${name}); what needs it will be skipped\n`);
