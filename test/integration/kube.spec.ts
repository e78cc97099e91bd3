import { HttpKube, memberKubeConnection } from '#adapters/kube';
import { parseKubeconfig } from '#contracts/kubeconfig';
import { SystemClock, SystemRandom } from '#platform';
import { kubeConformance } from '#testing/conformance';
import { startControlPlane, testbedProblems } from '#testbed';

kubeConformance('HttpKube on a real API server', async () => {
  const cluster = await startControlPlane({ name: 'kube-conformance', controllers: [] });
  const parsed = parseKubeconfig(cluster.kubeconfig(), { allowLocalServers: true });
  if (!parsed.ok) throw new Error('the testbed gave a kubeconfig that is not accepted');
  const kube = new HttpKube(memberKubeConnection(parsed.connection), { clock: new SystemClock(), random: new SystemRandom() });
  return {
    kube,
    close: async () => {
      kube.close();
      await cluster.stop();
    },
  };
}, testbedProblems());
