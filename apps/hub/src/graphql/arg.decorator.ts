import 'reflect-metadata';
import { Args, type ArgsOptions } from '@nestjs/graphql';

/** A GraphQL argument of a resolver method, its type always said explicitly. */
export function Arg(name: string, type: NonNullable<ArgsOptions['type']>, options: Omit<ArgsOptions, 'name' | 'type'> = {}): ParameterDecorator {
  return (target, key, index) => {
    // Nest looks the parameter up in the list that emitDecoratorMetadata would have left, even where its type is explicit.
    if (key !== undefined && !Reflect.hasOwnMetadata('design:paramtypes', target, key)) Reflect.defineMetadata('design:paramtypes', [], target, key);
    Args(name, { type, ...options })(target, key, index);
  };
}
