import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';

import { JudgeLoop } from './judge-loop.js';

/** Runs the judge for as long as the application. */
@Injectable()
export class JudgeService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(JudgeLoop) private readonly loop: JudgeLoop) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
