import { Inject } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';

import { Arg } from '../graphql/arg.decorator.js';
import { PAGE_SIZE_DEFAULT } from '../graphql/page.js';
import { AuditEntryModel, AuditLogPage } from './audit.model.js';
import { AuditService } from './audit.service.js';

/** GraphQL of the audit log. */
@Resolver(() => AuditEntryModel)
export class AuditResolver {
  constructor(@Inject(AuditService) private readonly service: AuditService) {}

  @Query(() => AuditLogPage, { description: 'Who changed what, newest first.' })
  async auditLog(
    @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number,
    @Arg('after', () => String, { nullable: true }) after?: string | null,
    @Arg('target', () => String, { nullable: true, description: 'Only what was done to this, such as `cluster/east-1`.' }) target?: string | null,
  ): Promise<AuditLogPage> {
    return this.service.list({ first, after: after ?? undefined }, target ?? undefined);
  }
}
