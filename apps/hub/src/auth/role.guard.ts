import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { GqlExecutionContext } from '@nestjs/graphql';
import { OperationTypeNode, type GraphQLResolveInfo } from 'graphql';

import { FleetError } from '#domain/fleet';

import type { Principal } from './access-tokens.js';

/** What resolvers get beside their arguments. */
export interface CallContext {
  readonly principal: Principal;
}

/** Lets viewers read and only admins change anything. */
@Injectable()
export class RoleGuard implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const context = GqlExecutionContext.create(execution);
    const { operation } = context.getInfo<GraphQLResolveInfo>().operation;
    const { principal } = context.getContext<CallContext>();
    if (operation === OperationTypeNode.QUERY || principal.role === 'admin') return true;
    throw new FleetError('AUTH_FORBIDDEN', 'user', `A ${principal.role} may read only; use the admin token to change anything.`);
  }
}
