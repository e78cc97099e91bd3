import type { Type } from '@nestjs/common';
import { Field, Int, ObjectType } from '@nestjs/graphql';

import type { Page, PageInfoData } from './page.js';

@ObjectType({ description: 'Where a page stands in its list.' })
abstract class PageInfo implements PageInfoData {
  @Field(() => Boolean) abstract readonly hasNextPage: boolean;
  @Field(() => Boolean) abstract readonly hasPreviousPage: boolean;
  @Field(() => String, { nullable: true }) abstract readonly startCursor: string | undefined;
  @Field(() => String, { nullable: true }) abstract readonly endCursor: string | undefined;
}

/** The Relay connection type over a node type, named after it. */
export function connectionOf<T>(node: abstract new () => T, name: string): Type<Page<T>> {
  @ObjectType(`${name}Edge`)
  abstract class Edge {
    @Field(() => String) abstract readonly cursor: string;
    @Field(() => node) abstract readonly node: T;
  }

  @ObjectType(`${name}Connection`)
  abstract class Connection {
    @Field(() => [Edge]) abstract readonly edges: readonly Edge[];
    @Field(() => [node], { description: 'The nodes of all edges.' }) abstract readonly nodes: readonly T[];
    @Field(() => PageInfo) abstract readonly pageInfo: PageInfo;
    @Field(() => Int, { description: 'Items of the whole list.' }) abstract readonly totalCount: number;
  }
  // Nest only asks for the class by its metadata and never makes one.
  return Connection as unknown as Type<Page<T>>;
}
