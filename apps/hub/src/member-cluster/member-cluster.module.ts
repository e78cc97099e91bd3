import { Module } from '@nestjs/common';

import { JoinTokenService } from './join-token.service.js';
import { MemberClusterResolver } from './member-cluster.resolver.js';
import { MemberClusterService } from './member-cluster.service.js';

/** Member clusters: register, show, change, remove, join tokens. */
@Module({ providers: [MemberClusterResolver, MemberClusterService, JoinTokenService] })
export class MemberClusterModule {}
