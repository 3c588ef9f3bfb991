import { randomUUID } from 'node:crypto';
import type { ParseArgsOptionsConfig } from 'node:util';
import type { z } from 'zod';
import type { AllServices } from '../domain/services.ts';
import { type Permission, permissionNames, systemActor } from '../kernel/actor.ts';
import { DomainError } from '../kernel/errors.ts';
import type { Operation, Scope } from '../kernel/operation.ts';
import { run } from '../kernel/run.ts';
import type { Kms } from '../ports/kms.ts';
import type { Screen } from './screen.ts';

/** The parts of the service a command works with, in this process. */
export interface CommandCore {
  services: AllServices;
  keys: Kms;
  /** Adds a key-encryption key and makes it the active one. @returns its id. */
  rotateKey(): Promise<string>;
}

/** What a command reaches beyond its arguments; given by the composition root. */
export interface Surroundings {
  /** Opens the database and the repositories, once; the caller of the command closes them. */
  open(): Promise<CommandCore>;
  /** The effective settings, secrets masked. */
  settings(): Record<string, unknown>;
  /** How this machine keeps builds apart from the server, and why. */
  isolation(): Promise<string>;
  version: string;
  screen: Screen;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}

/** Options as `parseArgs` gives them, once checked against their declaration. */
export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface Command {
  /** One word, or two: `token create`. */
  name: string;
  summary: string;
  /** What follows the name in the usage line. */
  synopsis: string;
  /** What each option means, as printed by `help`. */
  notes?: readonly (readonly [option: string, meaning: string])[];
  options: ParseArgsOptionsConfig;
  /** How many words beside the options: at least, at most. */
  words: readonly [number, number];
  run(words: readonly string[], values: Values, surroundings: Surroundings): Promise<void>;
}

/** A command line that cannot be understood: answered with the usage. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** A command that cannot be carried out; the message is for the terminal. */
export class Problem extends Error {
  override name = 'Problem';
}

/** The text of an option that must be given. @throws UsageError */
export function required(values: Values, name: string): string {
  const value = optional(values, name);
  if (value === undefined) throw new UsageError(`--${name} is required`);
  return value;
}

/** The text of an option; undefined when it was not given. */
export function optional(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** The texts of an option that may be repeated. */
export function repeated(values: Values, name: string): string[] | undefined {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : undefined;
}

/**
 * Runs an operation as `system:cli`, which has every permission: a user who can read the data directory could do everything by hand.
 * @throws DomainError for refusals.
 */
export function call<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  services: AllServices,
  operation: Operation<S, In, Out, Also>,
  input: Record<string, unknown>,
  { signal = new AbortController().signal, onPhase }: { signal?: AbortSignal; onPhase?: (phase: string) => void } = {},
): Promise<z.input<Out>> {
  const actor = systemActor('cli', permissionNames, services.settings.public_host, true);
  return run(
    operation,
    {
      services,
      actor,
      conditions: {},
      signal,
      request_id: randomUUID(),
      address: null,
      facts: {},
      ...(onPhase && { onPhase }),
    },
    input,
  );
}

/** The output of an operation, or null when its subject does not exist. */
export async function callOrNull<
  S extends Scope,
  In extends z.ZodObject,
  Out extends z.ZodType,
  Also extends Permission,
>(
  services: AllServices,
  operation: Operation<S, In, Out, Also>,
  input: Record<string, unknown>,
): Promise<z.input<Out> | null> {
  try {
    return await call(services, operation, input);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return null;
    throw error;
  }
}
