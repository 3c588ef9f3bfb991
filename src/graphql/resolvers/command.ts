import type { GraphQLField } from 'graphql';
import { type ClassType, Extensions, Mutation } from 'type-graphql';
import type { AnyOperation } from '../../kernel/operation.ts';

type Choice = (input: Record<string, unknown>) => AnyOperation;

/**
 * A mutation that runs a command. The field keeps which one: a request may be refused before its resolver is called.
 * @param command the operation, or how the mutation chooses one by its input, of which nothing is checked
 */
export function Command(
  type: () => ClassType | StringConstructor | BooleanConstructor,
  command: AnyOperation | Choice,
  description: string | undefined = 'summary' in command ? command.summary : undefined,
): MethodDecorator {
  return (target, key, descriptor) => {
    Mutation(type, { nullable: true, ...(description !== undefined && { description }) })(target, key, descriptor);
    Extensions({ command })(target, key, descriptor);
  };
}

/** The operation that a root field of mutations runs. @throws Error for a field that is no `@Command` */
export function commandOf(
  { name, extensions }: GraphQLField<unknown, unknown>,
  input: Record<string, unknown>,
): AnyOperation {
  const command = extensions.command as AnyOperation | Choice | undefined;
  if (!command) throw new Error(`The mutation ${name} says no command`);
  return typeof command === 'function' ? command(input) : command;
}
