import { Catch, Module, type DynamicModule, type ExceptionFilter } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import type { FastifyRequest } from 'fastify';

import type { Logger } from '#platform';

import { AuditModule } from './audit/audit.module.js';
import { GRAPHQL_PATH } from './auth/authenticate.hook.js';
import { RoleGuard } from './auth/role.guard.js';
import { AutomationModule } from './automation/automation.module.js';
import { BackendModule } from './backend/backend.module.js';
import { CoreModule, type HubCore } from './core/core.module.js';
import { FleetModule } from './fleet/fleet.module.js';
import { toPublicAnswer } from './graphql/public-error.js';
import { limitQueries } from './graphql/query-limits.js';
import { MemberClusterModule } from './member-cluster/member-cluster.module.js';
import { PolicyModule } from './policy/policy.module.js';

// Left to GraphQL, where one function decides what a caller may read of an error and what is logged.
@Catch()
class PassErrorsOn implements ExceptionFilter {
  catch(error: unknown): unknown {
    return error;
  }
}

/** The hub's GraphQL side. */
@Module({})
export class AppModule {
  static over(core: HubCore, logger: Logger): DynamicModule {
    return {
      module: AppModule,
      imports: [CoreModule.over(core), graphqlModule(core, logger), FleetModule, MemberClusterModule, BackendModule, PolicyModule, AutomationModule, AuditModule],
      providers: [
        { provide: APP_GUARD, useClass: RoleGuard },
        { provide: APP_FILTER, useClass: PassErrorsOn },
      ],
    };
  }
}

function graphqlModule({ settings }: HubCore, logger: Logger): DynamicModule {
  return GraphQLModule.forRoot<MercuriusDriverConfig>({
    driver: MercuriusDriver,
    path: GRAPHQL_PATH,
    autoSchemaFile: true,
    sortSchema: true,
    graphiql: settings.graphiql,
    context: (request: FastifyRequest) => ({ req: request, principal: request.principal }),
    // Limits depend on variables, so an operation is judged each time it comes.
    cache: false,
    validationRules: ({ variables }: { readonly variables?: Record<string, unknown> }) => [limitQueries(variables)],
    errorFormatter: (execution) => toPublicAnswer(execution, logger),
  });
}
