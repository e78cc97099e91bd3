import { Module } from '@nestjs/common';

import { BackendMemberResolver, BackendResolver } from './backend.resolver.js';
import { BackendService } from './backend.service.js';

/** Backends: members' parts, endpoints, and what each consumer sees. */
@Module({ providers: [BackendResolver, BackendMemberResolver, BackendService] })
export class BackendModule {}
