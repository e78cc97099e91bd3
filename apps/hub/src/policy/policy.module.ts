import { Module } from '@nestjs/common';

import { PolicyResolver } from './policy.resolver.js';
import { PolicyService } from './policy.service.js';

/** Sameness policies. */
@Module({ providers: [PolicyResolver, PolicyService] })
export class PolicyModule {}
