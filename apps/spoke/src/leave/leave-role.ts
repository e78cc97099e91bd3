import { HttpKube, inClusterConnection } from '#adapters/kube';
import { createLogger, loadConfig, SystemClock, SystemRandom, type Env, type RunningProcess } from '#platform';

import { askToLeave } from './ask-to-leave.js';
import { LeaveConfigSchema } from './config.js';

/**
 * Starts the leave role: a task that ends by itself, run under the controller's ServiceAccount before an installation is
 * removed. Throws ConfigError with every problem of the environment.
 */
export async function startLeaveRole(env: Env): Promise<RunningProcess> {
  const config = loadConfig(LeaveConfigSchema, env);
  const clock = new SystemClock();
  const logger = createLogger({ app: 'spoke-leave', level: config.logLevel });
  const kube = new HttpKube(await inClusterConnection({ ...config.kube, clock }), { clock, random: new SystemRandom() });
  const leave = async (): Promise<void> => {
    await askToLeave(kube, clock, config);
    logger.info({ namespace: config.namespace }, 'the spoke has left: nodes, addresses and finalizers are clean');
  };
  return { stop: async () => kube.close(), finished: leave() };
}
