import { Module, type DynamicModule } from '@nestjs/common';

import { FleetStore, JobQueue } from '#ports';

import { JudgeLoop } from './judge/judge-loop.js';
import { JudgeService } from './judge/judge.service.js';
import { MemberReconciler } from './member/member-reconciler.js';
import { MemberProcessor } from './member/member.processor.js';
import { PROCESSOR_TOOLS, type ProcessorTools } from './processor-tools.js';

/** What the worker's application is made of. */
export interface WorkerModuleParts {
  readonly store: FleetStore;
  readonly queue: JobQueue;
  readonly reconciler: MemberReconciler;
  readonly judge: JudgeLoop;
  readonly tools: ProcessorTools;
}

/** The worker as a Nest application: a processor of keys and a judge, over ports. */
@Module({})
export class WorkerModule {
  static over(parts: WorkerModuleParts): DynamicModule {
    return {
      module: WorkerModule,
      providers: [
        { provide: FleetStore, useValue: parts.store },
        { provide: JobQueue, useValue: parts.queue },
        { provide: MemberReconciler, useValue: parts.reconciler },
        { provide: JudgeLoop, useValue: parts.judge },
        { provide: PROCESSOR_TOOLS, useValue: parts.tools },
        MemberProcessor,
        JudgeService,
      ],
    };
  }
}
