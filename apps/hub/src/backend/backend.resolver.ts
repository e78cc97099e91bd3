import { Inject } from '@nestjs/common';
import { Int, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import type { Endpoint } from '#domain/fleet';

import { Arg } from '../graphql/arg.decorator.js';
import { PAGE_SIZE_DEFAULT, type Page } from '../graphql/page.js';
import { Backend, BackendConnection, BackendImportConnection, BackendMember, BackendMemberConnection, Conflict, EndpointConnection, type BackendImport } from './backend.model.js';
import { BackendService, showConflicts, showEndpoints, showImports, showMembers, type ShownBackend, type ShownMember } from './backend.service.js';

/** GraphQL of backends. */
@Resolver(() => Backend)
export class BackendResolver {
  constructor(@Inject(BackendService) private readonly service: BackendService) {}

  @Query(() => BackendConnection, { description: 'Backends of the fleet, sorted by namespace and name.' })
  async backends(
    @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number,
    @Arg('after', () => String, { nullable: true }) after?: string | null,
    @Arg('namespace', () => String, { nullable: true }) namespace?: string | null,
  ): Promise<Page<Backend>> {
    return this.service.list(namespace ?? undefined, { first, after: after ?? undefined });
  }

  @Query(() => Backend, { nullable: true })
  async backend(@Arg('namespace', () => String) namespace: string, @Arg('name', () => String) name: string): Promise<Backend | undefined> {
    return this.service.find(namespace, name);
  }

  @ResolveField(() => BackendMemberConnection, { description: 'The part of each cluster that defines it.' })
  members(@Parent() backend: ShownBackend, @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number, @Arg('after', () => String, { nullable: true }) after?: string | null): Page<BackendMember> {
    return showMembers(backend, { first, after: after ?? undefined });
  }

  @ResolveField(() => BackendImportConnection, { description: 'What each consumer cluster sees of it, or the one that is named.' })
  imports(
    @Parent() backend: ShownBackend,
    @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number,
    @Arg('after', () => String, { nullable: true }) after?: string | null,
    @Arg('consumer', () => String, { nullable: true }) consumer?: string | null,
  ): Page<BackendImport> {
    return showImports(backend, consumer ?? undefined, { first, after: after ?? undefined });
  }

  @ResolveField(() => [Conflict], { description: 'Every conflict that one of its clusters is told of.' })
  conflicts(@Parent() backend: ShownBackend): readonly Conflict[] {
    return showConflicts(backend);
  }
}

/** GraphQL of a member's part. */
@Resolver(() => BackendMember)
export class BackendMemberResolver {
  @ResolveField(() => EndpointConnection, { description: 'Sorted by address.' })
  endpoints(@Parent() member: ShownMember, @Arg('first', () => Int, { defaultValue: PAGE_SIZE_DEFAULT }) first: number, @Arg('after', () => String, { nullable: true }) after?: string | null): Page<Endpoint> {
    return showEndpoints(member, { first, after: after ?? undefined });
  }
}
